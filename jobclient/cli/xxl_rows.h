#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "carillon/result.h"
#include "shared/sql/sql_connection.h"

// What the database of an xxl-job admin (2.2 to 3.4) says of groups, jobs and users. Passwords are
// not read.
//
// Thread: any.
namespace carillon::cli {

// Executors that stand in for each other.
struct XxlGroup {
  std::int64_t id = 0;
  std::string app_name{};
  std::string title{};
  bool is_manual = false;   // its addresses were typed in, and are not those that registered
  std::string addresses{};  // by comma
};

struct XxlJob {
  std::int64_t id = 0;
  std::int64_t group = 0;
  std::string name{};
  std::string author{};
  std::string alarm_email{};
  std::string schedule_type{};  // NONE, CRON, FIX_RATE
  std::string schedule_conf{};  // the expression, or seconds
  std::string misfire{};        // DO_NOTHING, FIRE_ONCE_NOW
  std::string route{};          // FIRST, ROUND, SHARDING_BROADCAST ...
  std::string handler{};
  std::string param{};
  std::string block{};  // SERIAL_EXECUTION, DISCARD_LATER, COVER_EARLY
  std::int64_t timeout_s = 0;
  std::int64_t retries = 0;
  std::string glue_type{};  // BEAN, GLUE_SHELL ...
  std::string glue_source{};
  std::string children{};  // job ids by comma
  bool is_running = false;
  std::int64_t next_ms = 0;  // when xxl-job will fire it next, in ms since 1970; 0: never
};

struct XxlUser {
  std::string name{};
  bool is_admin = false;
  std::string groups{};  // ids by comma that it may use
};

// A script that was stored for a job.
struct XxlScript {
  std::string glue_type{};
  std::string source{};
  std::string remark{};
  std::int64_t saved_s = 0;  // in seconds since 1970; 0: nobody knows
};

// Which database has them, for whoever named another.
inline constexpr const char* kXxlDatabase =
    "the one that xxl-job's admin has as spring.datasource.url";

struct XxlDatabase {
  std::vector<XxlGroup> groups{};
  std::vector<XxlJob> jobs{};
  std::vector<XxlUser> users{};
  std::map<std::int64_t, std::vector<XxlScript>> scripts{};  // of a job, the oldest first
};

// By id. kNotFound when there is no table of xxl-job, kInvalidArgument when one has not the columns
// of these versions.
Result<XxlDatabase> read_xxl_job(sql::Connection& database);

}  // namespace carillon::cli
