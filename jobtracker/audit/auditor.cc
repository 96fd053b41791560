#include "jobtracker/audit/auditor.h"

#include <algorithm>
#include <utility>

#include "shared/base/joined.h"
#include "shared/base/utf8.h"
#include "shared/job/secrets.h"
#include "shared/wire/spec_json.h"

namespace carillon::jobtracker {
namespace {

constexpr const char* kAnyone = "anyone";
constexpr std::size_t kNamed = 10;      // task ids in the row of a submission
constexpr std::size_t kTextMax = 2048;  // of one text in a row's JSON

std::string clipped(std::string text, std::size_t bytes_max) {
  text = std::string{first_bytes(text, bytes_max)};
  if (is_utf8(text)) return text;
  for (char& byte : text) {
    if (static_cast<unsigned char>(byte) >= 0x80) byte = '?';
  }
  return text;
}

void shorten(std::string& text) {
  if (text.size() > kTextMax) text = "(" + std::to_string(text.size()) + " bytes)";
}

}  // namespace

const char* action_of(wire::Verb verb) {
  switch (verb) {
    case wire::Verb::kCancel:
      return "cancel";
    case wire::Verb::kSuspend:
      return "suspend";
    case wire::Verb::kResume:
      return "resume";
    case wire::Verb::kTrigger:
      return "trigger";
    case wire::Verb::kKill:
      return "kill";
    case wire::Verb::kAddExecutors:
      return "add_executors";
    case wire::Verb::kSplitGroup:
      return "split_group";
    case wire::Verb::kCleanHistory:
      return "clean_history";
    case wire::Verb::kSetScript:
      return "set_script";
    case wire::Verb::kRemoveGroup:
      return "remove_group";
    case wire::Verb::kDrainNode:
      return "drain_node";
    case wire::Verb::kIsolateNode:
      return "isolate_node";
    case wire::Verb::kReleaseNode:
      return "release_node";
    case wire::Verb::kSetPriority:
      return "set_priority";
    case wire::Verb::kSilence:
      return "silence";
    case wire::Verb::kTestAlarm:
      return "test_alarm";
    case wire::Verb::kTag:
      return "tag";
    case wire::Verb::kUntag:
      return "untag";
  }
  return "unknown";
}

std::string audited_spec(JobSpec spec) {
  spec = without_secrets(std::move(spec));
  shorten(spec.payload);
  shorten(spec.run.script_source);
  shorten(spec.run.shell);
  shorten(spec.run.http.body);
  for (auto& argument : spec.run.command) shorten(argument);
  for (auto& [name, value] : spec.params) shorten(value);
  return wire::spec_to_json(spec);
}

AuditedChange audited_jobs(const std::vector<JobSpec>& jobs) {
  AuditedChange change{.action = "submit"};
  if (jobs.empty()) return change;
  change.group = jobs.front().group;
  if (jobs.size() == 1) {
    change.task_id = jobs.front().task_id;
    change.after = audited_spec(jobs.front());
    return change;
  }
  std::vector<std::string> tasks;
  for (std::size_t i = 0; i < std::min(kNamed, jobs.size()); ++i) tasks.push_back(jobs[i].task_id);
  const auto is_elsewhere = [&](const JobSpec& job) { return job.group != change.group; };
  if (std::any_of(jobs.begin(), jobs.end(), is_elsewhere)) change.group.clear();
  change.after = wire::row_to_json(
      {{"jobs", static_cast<std::int64_t>(jobs.size())}, {"first_task_ids", joined(tasks, " ")}});
  return change;
}

AuditRow Auditor::row(const Asker& asker, AuditedChange change) {
  const WallTime now = clock_.now();
  const Caller* const caller = asker.caller.get();
  return {.id = ids_.next(now),
          .at = now,
          .by = clipped(caller == nullptr ? kAnyone : caller->principal.name, kAuditNameMax),
          .kind = caller == nullptr ? kAnyone : caller->principal.kind,
          .address = caller == nullptr ? std::string{} : caller->address,
          .action = std::move(change.action),
          .group = clipped(std::move(change.group), kAuditGroupMax),
          .task_id = clipped(std::move(change.task_id), kAuditTaskMax),
          .outcome = "done",
          .before = std::move(change.before),
          .after = std::move(change.after)};
}

void Auditor::add(const Asker& asker, AuditedChange change) { post(row(asker, std::move(change))); }

void Auditor::refused(const Asker& asker, AuditedChange change, const Error& why) {
  // The client asks again, and gets an answer then.
  if (why.code == ErrorCode::kUnavailable || why.code == ErrorCode::kLimit) return;
  const WallTime now = clock_.now();
  if (now - minute_ >= std::chrono::minutes{1} || now < minute_) {
    minute_ = now;
    refused_ = 0;
  }
  if (refused_ >= kRefusedMax) {
    ++more_;
    return;
  }
  ++refused_;
  if (more_ > 0) {
    change.after = wire::row_to_json({{"unrecorded_refusals_before", std::exchange(more_, 0)}});
  }
  AuditRow refusal = row(asker, std::move(change));
  refusal.outcome = clipped("refused: " + why.message, kAuditOutcomeMax);
  post(std::move(refusal));
}

void Auditor::post(AuditRow row) {
  batcher_.post(Urgency::kHousekeeping, AddAudit{std::move(row)},
                [](Operation&, const Outcome&, const Error*) {});
}

}  // namespace carillon::jobtracker
