// Exports jobs as JSON lines, and imports them.
#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <utility>

#include "jobtracker/api/api.h"
#include "jobtracker/api/body.h"
#include "jobtracker/api/job_filter.h"
#include "jobtracker/api/submission.h"
#include "jobtracker/api/task_view.h"
#include "shared/base/utf8.h"
#include "shared/job/secrets.h"
#include "shared/wire/spec_json.h"

namespace carillon::jobtracker::api {
namespace {

constexpr std::size_t kLinesMax = 1000;
constexpr Duration kWaitForReader = std::chrono::milliseconds{50};

// ---- export ----

struct Export {
  JobFilter filter{};
  std::string after{};
  net::HttpStream stream;
};

void export_page(Api& api, const ExchangePtr& exchange, const std::shared_ptr<Export>& work);

// Waits while the client does not read, instead of losing it.
void export_when_read(Api& api, const ExchangePtr& exchange, const std::shared_ptr<Export>& work) {
  if (!work->stream.is_open()) return;
  if (!is_still_sender(api, exchange)) return work->stream.abort();
  if (work->stream.waiting() == 0) return export_page(api, exchange, work);
  api.gateway.after(kWaitForReader,
                    [&api, exchange, work] { export_when_read(api, exchange, work); });
}

void write_specs(const std::shared_ptr<Export>& work, const std::vector<wire::Row>& rows) {
  std::string lines;
  for (const wire::Row& row : rows) {
    if (!work->filter.matches(row, 0)) continue;
    auto spec = spec_in(row);
    if (spec.ok()) lines += text_of(json_of_spec(without_secrets(std::move(spec).value()))) + "\n";
  }
  (void)work->stream.write(std::move(lines));  // One that is closed is noticed later.
}

void export_page(Api& api, const ExchangePtr& exchange, const std::shared_ptr<Export>& work) {
  ask(api, exchange,
      wire::Query{.what = "specs", .group = work->filter.group, .after = work->after},
      [&api, exchange, work](const Result<wire::Message>& answer) {
        const auto* rows = answer.ok() ? std::get_if<wire::Rows>(&answer.value()) : nullptr;
        // An export that breaks off has no end, so that nobody takes it for a whole one.
        if (rows == nullptr) return work->stream.abort();
        write_specs(work, rows->rows);
        work->after = rows->next;
        if (rows->next.empty()) return work->stream.end();
        export_when_read(api, exchange, work);
      });
}

void export_jobs(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(
      exchange, exchange->parameters.allow_only(
                    {"group", "state", "kind", "tag", "owner", "task_id", "task_prefix", "text"}));
  const JobFilter filter = job_filter_of(exchange->parameters);
  // First it is made sure that the caller may read, as a stream has no other status.
  ask_rows(api, exchange, {.what = "specs", .group = filter.group, .limit = 1},
           [&api, exchange, filter](const wire::Rows&) {
             const auto work = std::make_shared<Export>(Export{
                 .filter = filter,
                 .stream = exchange->responder.stream(
                     {.content_type = "application/jsonl",
                      .headers = {{"Content-Disposition", "attachment; filename=\"jobs.jsonl\""},
                                  {"Cache-Control", "no-store"}}})});
             export_page(api, exchange, work);
           });
}

// ---- import ----

struct ImportLine {
  std::optional<JobSpec> spec{};
  std::string change = "invalid";  // new, changed, same, invalid
  std::string reason{};
  std::string task_id{};
  std::string group{};
  Json diff = Json::array();
};

struct Import {
  std::vector<ImportLine> lines{};
  std::size_t next = 0;
  bool is_dry_run = false;
};
using ImportPtr = std::shared_ptr<Import>;

// Secrets cannot be compared, because those that are stored are hidden. So a line with one is a
// change.
bool has_secret(const JobSpec& spec) {
  return json_of_spec(spec) != json_of_spec(without_secrets(spec));
}

// The fields of two specs that differ.
Json diff_of(const JobSpec& before, const JobSpec& after) {
  const Json one = json_of_spec(without_secrets(before));
  const Json other = json_of_spec(without_secrets(after));
  std::set<std::string> names;
  for (const auto& [name, value] : one.items()) names.insert(name);
  for (const auto& [name, value] : other.items()) names.insert(name);
  Json diff = Json::array();
  for (const std::string& name : names) {
    const Json was = one.contains(name) ? one[name] : Json{};
    const Json is = other.contains(name) ? other[name] : Json{};
    if (was != is) diff.push_back({{"field", name}, {"before", was}, {"after", is}});
  }
  if (has_secret(after))
    diff.push_back({{"field", "secrets"}, {"before", Json{}}, {"after", "***"}});
  return diff;
}

Json json_of_line(const ImportLine& line) {
  Json json{{"task_id", line.task_id},
            {"group", line.group},
            {"change", line.change},
            {"diff", line.diff}};
  json["reason"] = line.reason.empty() ? Json{} : Json(line.reason);
  return json;
}

void send_import(const ExchangePtr& exchange, const Import& import) {
  Json results = Json::array();
  for (const ImportLine& line : import.lines) results.push_back(json_of_line(line));
  exchange->send({{"results", std::move(results)}});
}

void submit_import(Api& api, const ExchangePtr& exchange, const ImportPtr& import) {
  Submission submission;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < import->lines.size(); ++i) {
    ImportLine& line = import->lines[i];
    if (!line.spec || line.change == "same") continue;
    line.spec->replace_on_exist = true;
    submission.jobs.push_back({.spec = std::move(line.spec)});
    places.push_back(i);
  }
  if (places.empty()) return send_import(exchange, *import);
  submit(api, exchange, std::move(submission),
         [exchange, import, places](const Result<std::vector<SubmitAnswer>>& answers) {
           if (!answers.ok()) return exchange->fail(answers.error());
           for (std::size_t i = 0; i < places.size() && i < answers.value().size(); ++i) {
             const SubmitAnswer& answer = answers.value()[i];
             if (answer.status == SubmitStatus::kAccepted) continue;
             import->lines[places[i]].change = "invalid";
             import->lines[places[i]].reason = answer.reason;
           }
           send_import(exchange, *import);
         });
}

// Compares one line after the other with what is defined.
void compare_next(Api& api, const ExchangePtr& exchange, const ImportPtr& import) {
  if (!is_still_sender(api, exchange)) return exchange->fail(sender_changed());
  while (import->next < import->lines.size() && !import->lines[import->next].spec) ++import->next;
  if (import->next == import->lines.size()) {
    return import->is_dry_run ? send_import(exchange, *import)
                              : submit_import(api, exchange, import);
  }
  const ImportLine& line = import->lines[import->next];
  if (line.task_id.empty()) {
    import->lines[import->next++].change = "new";
    return compare_next(api, exchange, import);
  }
  ask(api, exchange, wire::Query{.what = "show", .group = line.group, .task_id = line.task_id},
      [&api, exchange, import](const Result<wire::Message>& answer) {
        ImportLine& compared = import->lines[import->next++];
        const auto* rows = answer.ok() ? std::get_if<wire::Rows>(&answer.value()) : nullptr;
        if (!answer.ok() && answer.error().code != ErrorCode::kNotFound)
          return exchange->fail(answer.error());
        if (rows == nullptr || rows->rows.empty()) {
          compared.change = "new";
        } else if (const auto before = spec_in(rows->rows.front()); before.ok()) {
          JobSpec after = *compared.spec;
          if (after.schedule.kind == ScheduleKind::kCron && after.schedule.tz.empty())
            after.schedule.tz = before.value().schedule.tz;
          compared.diff = diff_of(before.value(), after);
          compared.change = compared.diff.empty() ? "same" : "changed";
        } else {
          compared.reason = before.error().message;
        }
        compare_next(api, exchange, import);
      });
}

ImportLine read_line(const Api& api, std::string_view text) {
  auto spec = read_job(text, api.facts.zone, api.gateway.clock().wall_now());
  if (spec.ok()) {
    const Status hidden = check_no_mask(spec.value());
    if (hidden.ok()) {
      const std::string task_id = spec.value().task_id;
      const std::string group = spec.value().group;
      return {.spec = std::move(spec).value(), .task_id = task_id, .group = group};
    }
    return {.reason = hidden.error().message,
            .task_id = spec.value().task_id,
            .group = spec.value().group};
  }
  const wire::NamedTask named = wire::task_named_in(text);
  return {.reason = spec.error().message, .task_id = named.task_id, .group = named.group};
}

void import_jobs(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({"dry_run"}));
  const auto import = std::make_shared<Import>();
  import->is_dry_run = CARILLON_TRY_CALL(exchange, exchange->parameters.flag("dry_run"));
  std::string_view rest = exchange->call.body;
  if (!is_utf8(rest))
    return exchange->fail(Error{ErrorCode::kInvalidArgument, "the body is not UTF-8"});
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (import->lines.size() == kLinesMax) {
      return exchange->fail(Error{ErrorCode::kInvalidArgument,
                                  "the body has more lines than allowed, at most " +
                                      std::to_string(kLinesMax) + " (import it in parts)"});
    }
    import->lines.push_back(read_line(api, line));
  }
  compare_next(api, exchange, import);
}

constexpr std::array kTransferRoutes{
    Route{"GET", "/jobs:export", export_jobs, Right::kRead},
    Route{"POST", "/jobs:import", import_jobs, Right::kEdit},
};

}  // namespace

std::span<const Route> transfer_routes() { return kTransferRoutes; }

}  // namespace carillon::jobtracker::api
