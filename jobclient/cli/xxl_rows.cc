#include "jobclient/cli/xxl_rows.h"

#include <initializer_list>
#include <set>
#include <utility>

namespace carillon::cli {
namespace {

constexpr const char* kColumns =
    "SELECT TABLE_NAME, COLUMN_NAME FROM INFORMATION_SCHEMA.COLUMNS "
    "WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN "
    "('xxl_job_group', 'xxl_job_info', 'xxl_job_logglue', 'xxl_job_user')";

// One value of a row.
struct Column {
  const char* name;
  const char* older = nullptr;      // its name in earlier versions
  const char* otherwise = nullptr;  // SQL where it is not there; null: it must be
};

// The tables that are there, with their columns.
class Tables {
 public:
  static Result<Tables> read(sql::Connection& database) {
    Tables tables(database);
    CARILLON_TRY(database.query(kColumns, {}, [&tables](const sql::Row& row) {
      tables.columns_[lower(row.bytes(0))].insert(lower(row.bytes(1)));
    }));
    return tables;
  }

  bool has(const std::string& table) const { return columns_.contains(table); }

  // Requires: names are ours; nothing of the database becomes part of a statement.
  template <class OnRow>
  Status each(const std::string& table, std::initializer_list<Column> wanted,
              const std::string& rest, OnRow on_row) const {
    const auto found = columns_.find(table);
    if (found == columns_.end()) {
      return Error{ErrorCode::kInvalidArgument, "there is no table " + table + as_xxl_job()};
    }
    std::string selected;
    for (const Column& column : wanted) {
      const char* name = column.otherwise;
      if (column.older != nullptr && found->second.contains(column.older)) name = column.older;
      if (found->second.contains(column.name)) name = column.name;
      if (name == nullptr) {
        return Error{ErrorCode::kInvalidArgument,
                     table + " has no column " + column.name + as_xxl_job()};
      }
      selected += (selected.empty() ? "" : ", ") + std::string{name};
    }
    return database_.query("SELECT " + selected + " FROM " + table + " " + rest, {}, on_row);
  }

 private:
  explicit Tables(sql::Connection& database) : database_(database) {}

  static std::string as_xxl_job() {
    return ": this is not a database of an xxl-job admin of version 2.2 to 3.4";
  }

  static std::string lower(std::string_view name) {
    std::string text{name};
    for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return text;
  }

  sql::Connection& database_;
  std::map<std::string, std::set<std::string>> columns_{};
};

// Reads the columns of a row one after the other.
class Reader {
 public:
  explicit Reader(const sql::Row& row) : row_(row) {}

  std::int64_t number() { return row_.integer(column_++); }
  std::string text() { return std::string{row_.bytes(column_++)}; }

 private:
  const sql::Row& row_;
  int column_ = 0;
};

Status read_groups(const Tables& tables, std::vector<XxlGroup>& groups) {
  return tables.each("xxl_job_group",
                     {{"id"}, {"app_name"}, {"name", "title"}, {"address_type"}, {"address_list"}},
                     "ORDER BY id", [&groups](const sql::Row& row) {
                       Reader from(row);
                       XxlGroup group{
                           .id = from.number(), .app_name = from.text(), .title = from.text()};
                       group.is_manual = from.number() == 1;
                       group.addresses = from.text();
                       groups.push_back(std::move(group));
                     });
}

Status read_jobs(const Tables& tables, std::vector<XxlJob>& jobs) {
  // 2.2 has cron alone, and lets pass what it is more than five seconds late for.
  return tables.each("xxl_job_info",
                     {{"id"},
                      {"job_group"},
                      {"name", "job_desc"},
                      {"author"},
                      {"alarm_email"},
                      {"schedule_type", nullptr, "'CRON'"},
                      {"schedule_conf", "job_cron"},
                      {"misfire_strategy", nullptr, "'DO_NOTHING'"},
                      {"executor_route_strategy"},
                      {"executor_handler"},
                      {"executor_param"},
                      {"executor_block_strategy"},
                      {"executor_timeout"},
                      {"executor_fail_retry_count"},
                      {"glue_type"},
                      {"glue_source"},
                      {"child_jobid"},
                      {"trigger_status"},
                      {"trigger_next_time"}},
                     "ORDER BY id", [&jobs](const sql::Row& row) {
                       Reader from(row);
                       XxlJob job{.id = from.number(), .group = from.number()};
                       job.name = from.text();
                       job.author = from.text();
                       job.alarm_email = from.text();
                       job.schedule_type = from.text();
                       job.schedule_conf = from.text();
                       job.misfire = from.text();
                       job.route = from.text();
                       job.handler = from.text();
                       job.param = from.text();
                       job.block = from.text();
                       job.timeout_s = from.number();
                       job.retries = from.number();
                       job.glue_type = from.text();
                       job.glue_source = from.text();
                       job.children = from.text();
                       job.is_running = from.number() == 1;
                       job.next_ms = from.number();
                       jobs.push_back(std::move(job));
                     });
}

Status read_users(const Tables& tables, std::vector<XxlUser>& users) {
  return tables.each("xxl_job_user", {{"username"}, {"role"}, {"permission"}}, "ORDER BY id",
                     [&users](const sql::Row& row) {
                       Reader from(row);
                       XxlUser user{.name = from.text()};
                       user.is_admin = from.number() == 1;
                       user.groups = from.text();
                       users.push_back(std::move(user));
                     });
}

Status read_scripts(const Tables& tables, std::map<std::int64_t, std::vector<XxlScript>>& scripts) {
  constexpr const char* kSaved = "CAST(COALESCE(UNIX_TIMESTAMP(update_time), 0) AS SIGNED)";
  return tables.each(
      "xxl_job_logglue",
      {{"job_id"}, {"glue_type"}, {"glue_source"}, {"glue_remark"}, {"", nullptr, kSaved}},
      "ORDER BY id", [&scripts](const sql::Row& row) {
        Reader from(row);
        std::vector<XxlScript>& some = scripts[from.number()];
        XxlScript script{.glue_type = from.text()};
        script.source = from.text();
        script.remark = from.text();
        script.saved_s = from.number();
        some.push_back(std::move(script));
      });
}

}  // namespace

Result<XxlDatabase> read_xxl_job(sql::Connection& database) {
  const Tables tables = CARILLON_TRY(Tables::read(database));
  if (!tables.has("xxl_job_info")) {
    return Error{ErrorCode::kNotFound,
                 std::string{"no tables of xxl-job (xxl_job_info and the like) in this database: "
                             "name "} +
                     kXxlDatabase};
  }
  XxlDatabase read;
  CARILLON_TRY(read_groups(tables, read.groups));
  CARILLON_TRY(read_jobs(tables, read.jobs));
  CARILLON_TRY(read_users(tables, read.users));
  CARILLON_TRY(read_scripts(tables, read.scripts));
  return read;
}

}  // namespace carillon::cli
