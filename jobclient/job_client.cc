#include "carillon/job_client.h"

#include <array>
#include <charconv>

#include "jobclient/submit/client_thread.h"
#include "shared/base/assert.h"
#include "shared/wire/codec.h"
#include "shared/wire/spec_json.h"

namespace carillon {
namespace {

// The answer of the kind that was asked for.
template <class Wanted>
Result<Wanted> as(Result<wire::Message> answer) {
  wire::Message message = CARILLON_TRY(std::move(answer));
  if (auto* wanted = std::get_if<Wanted>(&message)) return std::move(*wanted);
  return Error{ErrorCode::kCorrupt, "the job tracker sent an answer to another question"};
}

wire::Act act_on(wire::Verb verb, const TaskRef& task) {
  return {.verb = verb, .group = task.group, .task_id = task.task_id};
}

Result<ActAnswer> act(ClientThread& thread, wire::Act request) {
  wire::Acted acted = CARILLON_TRY(as<wire::Acted>(thread.ask_and_wait(std::move(request))));
  return ActAnswer{acted.job_id, std::move(acted.message)};
}

Result<RowPage> query(ClientThread& thread, std::string what, const RowFilter& filter) {
  wire::Query request{.what = std::move(what),
                      .group = filter.group,
                      .task_id = filter.task_id,
                      .job_id = filter.job_id,
                      .since_us = filter.since ? filter.since->time_since_epoch().count() : 0,
                      .until_us = filter.until ? filter.until->time_since_epoch().count() : 0,
                      .limit = filter.limit,
                      .after = filter.after,
                      .states = filter.states,
                      .by = filter.by};
  wire::Rows rows = CARILLON_TRY(as<wire::Rows>(thread.ask_and_wait(std::move(request))));
  return RowPage{std::move(rows.rows), std::move(rows.next)};
}

// A tracker sends a job as it keeps it; people and scripts know it as JSON.
Status make_spec_readable(Row& row) {
  for (auto& [name, value] : row) {
    auto* const bytes = std::get_if<std::string>(&value);
    if (name != "spec" || bytes == nullptr) continue;
    const Result<JobSpec> spec = wire::decode_spec(*bytes);
    if (!spec.ok()) {
      return Error{ErrorCode::kCorrupt,
                   "the job in the job tracker's answer cannot be read: " + spec.error().message};
    }
    *bytes = wire::spec_to_json(spec.value());
  }
  return {};
}

}  // namespace

const char* to_string(SubmitStatus status) {
  switch (status) {
    case SubmitStatus::kAccepted:
      return "accepted";
    case SubmitStatus::kDuplicate:
      return "duplicate";
    case SubmitStatus::kRejected:
      return "rejected";
    case SubmitStatus::kStored:
      return "stored";
    case SubmitStatus::kUnanswered:
      return "unanswered";
    case SubmitStatus::kNotTaken:
      return "not_taken";
  }
  return "unknown";
}

const Field* find_field(const Row& row, const std::string& name) {
  for (const auto& [key, value] : row) {
    if (key == name) return &value;
  }
  return nullptr;
}

std::string field_text(const Row& row, const std::string& name) {
  const Field* field = find_field(row, name);
  if (field == nullptr) return {};
  if (const auto* text = std::get_if<std::string>(field)) return *text;
  if (const auto* flag = std::get_if<bool>(field)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<std::int64_t>(field)) return std::to_string(*number);
  if (const auto* number = std::get_if<double>(field)) {
    std::array<char, 32> digits{};
    const int length = std::snprintf(digits.data(), digits.size(), "%.6g", *number);
    return {digits.data(), static_cast<std::size_t>(length)};
  }
  return {};
}

JobClient::JobClient(std::unique_ptr<ClientThread> thread) : thread_(std::move(thread)) {
  CARILLON_ASSERT(thread_ != nullptr, "a job client needs its thread");
}

JobClient::~JobClient() = default;

Result<std::vector<SubmitAnswer>> JobClient::submit(std::vector<JobSpec> jobs) {
  return thread_->submit_and_wait(std::move(jobs));
}

Result<SubmitAnswer> JobClient::submit_one(JobSpec job) {
  std::vector<JobSpec> jobs;
  jobs.push_back(std::move(job));
  auto answers = CARILLON_TRY(thread_->submit_and_wait(std::move(jobs)));
  return std::move(answers.front());
}

Result<std::vector<SubmitAnswer>> JobClient::submit_suspended(std::vector<JobSpec> jobs) {
  return thread_->submit_and_wait(std::move(jobs), true);
}

void JobClient::submit_async(std::vector<JobSpec> jobs, SubmitDone done) {
  thread_->submit(std::move(jobs), std::move(done));
}

Result<FlushAnswer> JobClient::flush(std::optional<Duration> longest) {
  return thread_->flush_and_wait(longest);
}

Result<ActAnswer> JobClient::cancel(const TaskRef& task) {
  return act(*thread_, act_on(wire::Verb::kCancel, task));
}

Result<ActAnswer> JobClient::suspend(const TaskRef& task) {
  return act(*thread_, act_on(wire::Verb::kSuspend, task));
}

Result<ActAnswer> JobClient::resume(const TaskRef& task) {
  return act(*thread_, act_on(wire::Verb::kResume, task));
}

Result<ActAnswer> JobClient::trigger(const TaskRef& task, const TriggerOptions& options) {
  wire::Act request = act_on(wire::Verb::kTrigger, task);
  request.payload = options.payload;
  request.force = options.force;
  request.addresses = options.addresses;
  return act(*thread_, std::move(request));
}

Result<ActAnswer> JobClient::kill(const TaskRef& task) {
  return act(*thread_, act_on(wire::Verb::kKill, task));
}

Result<ActAnswer> JobClient::kill(JobId job) {
  return act(*thread_, {.verb = wire::Verb::kKill, .job_id = job});
}

Result<ActAnswer> JobClient::set_priority(const TaskRef& task, int priority) {
  wire::Act request = act_on(wire::Verb::kSetPriority, task);
  request.priority = priority;
  return act(*thread_, std::move(request));
}

Result<ActAnswer> JobClient::set_priority(JobId job, int priority) {
  return act(*thread_, {.verb = wire::Verb::kSetPriority, .job_id = job, .priority = priority});
}

Result<ActAnswer> JobClient::add_executors(const std::string& group,
                                           std::vector<std::string> addresses,
                                           std::optional<std::string> token) {
  wire::Act request{.verb = wire::Verb::kAddExecutors, .group = group};
  request.addresses = std::move(addresses);
  request.token = std::move(token);
  return act(*thread_, std::move(request));
}

Result<ActAnswer> JobClient::split_group(const std::string& group, std::int32_t parts) {
  return act(*thread_, {.verb = wire::Verb::kSplitGroup, .group = group, .parts = parts});
}

Result<ActAnswer> JobClient::remove_executor_group(const std::string& group) {
  return act(*thread_, {.verb = wire::Verb::kRemoveGroup, .group = group});
}

Result<ActAnswer> JobClient::silence_alarms(const std::string& group,
                                            std::optional<WallTime> until) {
  return act(*thread_, {.verb = wire::Verb::kSilence,
                        .group = group,
                        .until_us = until ? until->time_since_epoch().count() : 0});
}

Result<ActAnswer> JobClient::test_alarm(const std::string& recipient) {
  return act(*thread_, {.verb = wire::Verb::kTestAlarm, .addresses = {recipient}});
}

Result<ActAnswer> JobClient::set_script(const TaskRef& task, const Script& script) {
  wire::Act request = act_on(wire::Verb::kSetScript, task);
  request.payload = script.source;
  request.language = script.language;
  request.remark = script.remark;
  request.script_version = script.version;
  return act(*thread_, std::move(request));
}

Result<ActAnswer> JobClient::restore_script(const TaskRef& task, const std::string& version,
                                            const std::string& remark) {
  const RowPage page = CARILLON_TRY(script(task, version));
  if (page.rows.empty())
    return Error{ErrorCode::kCorrupt, "the job tracker answered without a version of the script"};
  const Row& row = page.rows.front();
  return set_script(
      task, {.language = field_text(row, "language"),
             .source = field_text(row, "source"),
             .remark = remark.empty() ? "as of version " + field_text(row, "version") : remark});
}

Result<std::int64_t> JobClient::clean_history(const CleanRule& rule) {
  wire::Act step{.verb = wire::Verb::kCleanHistory, .group = rule.group, .task_id = rule.task_id};
  if (rule.ended_before) step.until_us = rule.ended_before->time_since_epoch().count();
  if (rule.keep && *rule.keep < 0) {
    return Error{ErrorCode::kInvalidArgument,
                 "CleanRule.keep is " + std::to_string(*rule.keep) + ", must be 0 or more"};
  }
  if (rule.keep) {
    // The last row that stays, which is the page key of the history up to it.
    RowFilter newest{.group = rule.group, .task_id = rule.task_id};
    for (std::int64_t left = *rule.keep; left > 0;) {
      newest.limit = left;
      RowPage page = CARILLON_TRY(history(newest));
      if (page.next.empty()) return 0;
      left -= static_cast<std::int64_t>(page.rows.size());
      newest.after = std::move(page.next);
    }
    const char* end = newest.after.data() + newest.after.size();
    if (std::from_chars(newest.after.data(), end, step.before).ptr != end)
      return Error{ErrorCode::kCorrupt, "the job tracker's page key is not a row's number"};
  }
  std::int64_t removed = 0;
  do {
    const auto acted = CARILLON_TRY(as<wire::Acted>(thread_->ask_and_wait(wire::Message{step})));
    removed += acted.count;
    step.after = acted.next;
  } while (step.after != 0);
  return removed;
}

Result<RowPage> JobClient::counts(const RowFilter& filter) {
  return query(*thread_, "counts", filter);
}

Result<RowPage> JobClient::figures(const RowFilter& filter) {
  return query(*thread_, "figures", filter);
}

Result<RowPage> JobClient::list(const RowFilter& filter) { return query(*thread_, "list", filter); }

Result<RowPage> JobClient::waiting(const RowFilter& filter) {
  return query(*thread_, "waiting", filter);
}

Result<RowPage> JobClient::executing(const RowFilter& filter) {
  return query(*thread_, "executing", filter);
}

Result<RowPage> JobClient::history(const RowFilter& filter) {
  return query(*thread_, "history", filter);
}

Result<RowPage> JobClient::audit(const RowFilter& filter) {
  return query(*thread_, "audit", filter);
}

Result<RowPage> JobClient::nodes(const RowFilter& filter) {
  return query(*thread_, "nodes", filter);
}

Result<RowPage> JobClient::groups(const RowFilter& filter) {
  return query(*thread_, "groups", filter);
}

Result<RowPage> JobClient::alarms(const RowFilter& filter) {
  return query(*thread_, "alarms", filter);
}

Result<RowPage> JobClient::alarm_history(const RowFilter& filter) {
  return query(*thread_, "alarm_history", filter);
}

Result<RowPage> JobClient::show(const TaskRef& task) {
  RowPage page =
      CARILLON_TRY(query(*thread_, "show", {.group = task.group, .task_id = task.task_id}));
  for (Row& row : page.rows) CARILLON_TRY(make_spec_readable(row));
  return page;
}

Result<RowPage> JobClient::scripts(const TaskRef& task) {
  return query(*thread_, "scripts", {.group = task.group, .task_id = task.task_id});
}

Result<RowPage> JobClient::script(const TaskRef& task, const std::string& version) {
  return query(*thread_, "script",
               {.group = task.group, .task_id = task.task_id, .after = version});
}

Result<RowPage> JobClient::stats() { return query(*thread_, "stats", {}); }

Result<RowPage> JobClient::job(JobId job) { return query(*thread_, "job", {.job_id = job}); }

Result<RowPage> JobClient::output(const RowFilter& filter) {
  return query(*thread_, "output", filter);
}

Result<RowPage> JobClient::whoami() { return query(*thread_, "whoami", {}); }

Result<RowPage> JobClient::principals() { return query(*thread_, "principals", {}); }

Result<ActAnswer> JobClient::put_principal(const PrincipalChange& change) {
  wire::PutPrincipal request{.kind = change.kind,
                             .name = change.name,
                             .role = change.role,
                             .groups = change.groups,
                             .secret = change.secret,
                             .replaces = change.replaces,
                             .language = change.language};
  if (change.expires) request.expires_us = change.expires->time_since_epoch().count();
  wire::Acted acted = CARILLON_TRY(as<wire::Acted>(thread_->ask_and_wait(std::move(request))));
  return ActAnswer{acted.job_id, std::move(acted.message)};
}

Result<ActAnswer> JobClient::remove_principal(const std::string& kind, const std::string& name) {
  wire::Acted acted = CARILLON_TRY(
      as<wire::Acted>(thread_->ask_and_wait(wire::RemovePrincipal{.kind = kind, .name = name})));
  return ActAnswer{acted.job_id, std::move(acted.message)};
}

Result<std::vector<JobResult>> JobClient::fetch_feedback(const FeedbackFetch& fetch) {
  auto answer =
      CARILLON_TRY(thread_->ask_and_wait(wire::FetchFeedback{.client_group = fetch.client_group,
                                                             .listener = fetch.listener,
                                                             .done = fetch.done,
                                                             .refused = fetch.refused,
                                                             .limit = fetch.limit}));
  auto* feedback = std::get_if<wire::Feedback>(&answer);
  if (feedback == nullptr) {
    return Error{ErrorCode::kCorrupt, "the job tracker sent an answer that is not feedback"};
  }
  std::vector<JobResult> results;
  for (wire::FeedbackEntry& entry : feedback->results) {
    results.push_back({.id = entry.id,
                       .job_id = entry.job_id,
                       .task_id = std::move(entry.task_id),
                       .group = std::move(entry.group),
                       .attempt = entry.attempt,
                       .state = std::move(entry.state),
                       .trigger_time = entry.trigger_time,
                       .started_at = entry.started_at,
                       .ended_at = entry.ended_at,
                       .node = std::move(entry.node),
                       .exit_code = entry.exit_code,
                       .message = std::move(entry.message)});
  }
  return results;
}

}  // namespace carillon
