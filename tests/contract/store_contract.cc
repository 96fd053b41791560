#include "tests/contract/store_contract.h"

#include <algorithm>

#include "tests/support/may_skip.h"

namespace carillon::jobtracker {

void StoreContract::SetUp() {
  auto database = GetParam().make();
  if (!database.ok() && database.error().code == ErrorCode::kNotFound && testing::may_skip()) {
    GTEST_SKIP() << database.error().message;
  }
  ASSERT_TRUE(database.ok()) << database.error().message;
  database_ = std::move(database).value();
  open_session();
  group_ = make_group("default");
}

void StoreContract::open_session() {
  ++session_.session.value;
  auto opened = database_->open(session_, clock_);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  store_ = std::move(opened).value();
  number_ = 0;
}

CommitResult StoreContract::commit(std::vector<Operation> operations,
                                   std::vector<NumberedRequest> requests) {
  const Batch batch{.number = number_ + 1,
                    .id_high = last_id_,
                    .recovered = recovered_,
                    .now = now_,
                    .operations = std::move(operations),
                    .requests = std::move(requests),
                    .log_settled = log_settled_};
  auto result = store_->commit(batch);
  if (std::holds_alternative<Committed>(result)) ++number_;
  return result;
}

Committed StoreContract::committed(std::vector<Operation> operations,
                                   std::vector<NumberedRequest> requests) {
  auto result = commit(std::move(operations), std::move(requests));
  if (auto* done = std::get_if<Committed>(&result)) return std::move(*done);
  if (const auto* back = std::get_if<RolledBack>(&result)) {
    ADD_FAILURE() << "rolled back: " << back->error.message;
  } else {
    ADD_FAILURE() << "unknown";
  }
  return {};
}

std::vector<OutcomeKind> StoreContract::outcomes(std::vector<Operation> operations) {
  const auto count = operations.size();
  std::vector<OutcomeKind> kinds;
  for (const Outcome& one : committed(std::move(operations)).outcomes) kinds.push_back(one.kind);
  kinds.resize(count, OutcomeKind::kAnswered);  // after a failure: matches nothing expected
  return kinds;
}

GroupId StoreContract::make_group(const std::string& name) {
  return ask<GroupAnswer>(MakeGroup{name}).group.id;
}

std::vector<WaitingJob> StoreContract::waiting(GroupId group, bool delayed) {
  return ask<JobsAnswer>(ListWaiting{.group = group, .delayed = delayed, .limit = 100'000}).jobs;
}

std::vector<ExecutingJob> StoreContract::executing() {
  return ask<ExecutingAnswer>(ListExecuting{.limit = 100'000}).jobs;
}

std::vector<Definition> StoreContract::definitions() {
  return ask<StartAnswer>(ReadStart{}).definitions;
}

std::vector<LogEntry> StoreContract::history() {
  return ask<HistoryAnswer>(ListHistory{.limit = 100'000}).entries;
}

FindAnswer StoreContract::find(const std::string& task_id) {
  return ask<FindAnswer>(Find{.group = group_, .task_id = task_id});
}

WaitingJob StoreContract::new_job() {
  const JobId id{++last_id_};
  return {.id = id,
          .group = group_,
          .task_id = "job-" + std::to_string(id.value),
          .trigger_time = kNow,
          .spec = "spec of " + std::to_string(id.value)};
}

WaitingJob StoreContract::new_keyed_job(const std::string& task_id) {
  auto job = new_job();
  job.task_id = task_id;
  job.keyed = true;
  return job;
}

Definition StoreContract::new_definition(const std::string& task_id) {
  return {.id = DefinitionId{static_cast<std::int32_t>(++last_id_)},
          .group = group_,
          .task_id = task_id,
          .keyed = true,
          .created_at = kNow,
          .next_fire = kNow + kSecond,
          .last_fire = kNow - kSecond,
          .generated_through = kNow,
          .fired = 3,
          .spec = "spec of " + task_id};
}

WaitingJob StoreContract::new_occurrence(const Definition& definition) {
  auto job = new_job();
  job.task_id = definition.task_id;
  job.definition = definition.id;
  job.version = definition.version;
  job.kind = definition.kind;
  job.spec.clear();
  return job;
}

void StoreContract::write_log(std::vector<LogEntry> entries) {
  const auto definition = new_definition("log " + std::to_string(last_id_));
  committed({AddDefinition{definition, std::nullopt}});
  committed({ChangeDefinition{.id = definition.id,
                              .expected_version = definition.version,
                              .to = definition,
                              .group = group_,
                              .logs = std::move(entries)}});
}

LogEntry StoreContract::new_log(const WaitingJob& job) {
  return {.id = ++last_id_,
          .job_id = job.id,
          .group = job.group,
          .task_id = job.task_id,
          .definition = job.definition,
          .attempt = job.attempt,
          .state = LogState::kFailed,
          .trigger_time = job.trigger_time,
          .started_at = kNow + kSecond,
          .ended_at = kNow + 2 * kSecond,
          .node = "worker-1",
          .exit_code = 3,
          .message = "exit status 3"};
}

ExecutingJob StoreContract::claimed(WaitingJob job) {
  ++job.attempt;
  return {.job = std::move(job),
          .session = SessionId{77},
          .node = "worker-1",
          .claimed_at = kNow + kSecond};
}

ExecutingJob StoreContract::running(const WaitingJob& job) {
  auto taken = claimed(job);
  // Additions come after claims in a batch, so this takes two.
  EXPECT_EQ(outcome(AddJob{job}), OutcomeKind::kDone);
  EXPECT_EQ(outcome(Claim{taken}), OutcomeKind::kDone);
  return taken;
}

End StoreContract::end_to_run_again(const ExecutingJob& executing) {
  const WaitingJob& job = executing.job;
  return {.id = job.id,
          .attempt = job.attempt,
          .group = job.group,
          .task_id = job.task_id,
          .log = new_log(job),
          .again = job};
}

std::vector<WaitingJob> StoreReads::add_many(int count) {
  std::vector<WaitingJob> jobs;
  std::vector<Operation> adds;
  for (int i = 0; i < count; ++i) {
    auto job = new_job();
    job.priority = i % 7 == 0 ? kPriorityTriggered : (i * 37) % 11;
    job.trigger_time = kNow + ((i * 13) % 9 - 5) * kSecond;
    if (i % 4 == 0) job.not_before = kNow + ((i * 7) % 9 - 4) * kSecond;
    jobs.push_back(job);
    adds.push_back(AddJob{job});
  }
  std::reverse(adds.begin() + count / 3, adds.end());
  committed(std::move(adds));
  return jobs;
}

void StoreReads::sort_by_order(std::vector<WaitingJob>& jobs) {
  std::sort(jobs.begin(), jobs.end(), [](const WaitingJob& a, const WaitingJob& b) {
    return hand_out_key(a) < hand_out_key(b);
  });
}

}  // namespace carillon::jobtracker
