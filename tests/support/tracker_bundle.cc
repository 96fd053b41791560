#include "tests/support/tracker_bundle.h"

#include <algorithm>
#include <utility>

#include <gtest/gtest.h>

#include "shared/base/time_text.h"

namespace carillon::testing {

using jobtracker::BatchDone;
using jobtracker::JobTracker;
using jobtracker::MemoryStore;
using jobtracker::Read;
using jobtracker::ReadAnswer;
using jobtracker::ReadDone;
using jobtracker::WaitingJob;

namespace {

constexpr Duration kQuestionTime = std::chrono::microseconds{300};
constexpr Duration kLooks = std::chrono::milliseconds{500};

}  // namespace

struct TrackerBundle::World {
  ManualClock clock;
  ManualTaskRunner task_runner{clock};
  jobtracker::MemoryDatabase database;
  std::vector<TrackerBundle*> bundles;
  std::int64_t last_session = 0;
};

// Answers from the database as it is when the question gets there.
class TrackerBundle::FakeQuestions final : public jobtracker::Questions {
 public:
  FakeQuestions(TrackerBundle& bundle, TaskRunner& task_runner)
      : bundle_(bundle),
        reader_(bundle.database),
        task_runner_(task_runner),
        clock_(bundle.clock) {}

  void ask(Read question, std::function<void(Result<ReadAnswer>)> on_answer) override {
    task_runner_.post_at(clock_.steady_now() + kQuestionTime,
                         [this, question = std::move(question), on_answer = std::move(on_answer)] {
                           auto answer = reader_.read(question);
                           bundle_.on_read(answer);
                           on_answer(std::move(answer));
                         });
  }

 private:
  TrackerBundle& bundle_;
  jobtracker::MemoryReader reader_;
  TaskRunner& task_runner_;
  const Clock& clock_;
};

TrackerBundle::TrackerBundle(Options options)
    : world_(options.beside ? options.beside->world_ : std::make_shared<World>()),
      clock(world_->clock),
      task_runner(world_->task_runner),
      random(options.seed),
      database(world_->database),
      client(1 + static_cast<std::int64_t>(world_->bundles.size()), network, task_runner, clock),
      number_(static_cast<std::int64_t>(world_->bundles.size())),
      options_(std::move(options)) {
  set_log_level(LogLevel::kOff);
  world_->bundles.push_back(this);
  executors.on_result = [this](wire::xxl::RunResult result) {
    jobtracker::ExecutorResults results;
    results.results.push_back(std::move(result));
    if (is_up()) tracker().on_executor(std::move(results), [](const Status&) {});
  };
  if (!options_.start) return;
  start_tracker();
  run_until([this] { return tracker().is_ready(); });
}

TrackerBundle::~TrackerBundle() { world_->bundles.pop_back(); }

bool TrackerBundle::turn(SteadyTime limit) {
  if (!task_runner.run_one(limit)) return false;
  for (TrackerBundle* one : world_->bundles) one->end_turn();
  return true;
}

// As the real loop: a hook that asks for it gets another turn before time goes on.
void TrackerBundle::end_turn() {
  if (fatal_ && life_) kill_tracker();
  while (life_ && life_->tracker->end_turn()) continue;
}

void TrackerBundle::run_for(Duration time) {
  const SteadyTime limit = clock.steady_now() + time;
  while (turn(limit)) continue;
}

bool TrackerBundle::run_until(const std::function<bool()>& is_so, Duration limit) {
  const SteadyTime last = clock.steady_now() + limit;
  while (!is_so()) {
    if (!turn(last)) return is_so();
  }
  return true;
}

void TrackerBundle::start_tracker() {
  life_ = std::make_unique<Life>(task_runner);
  const SessionId session = session_ = SessionId{++world_->last_session};
  const jobtracker::StoreSession named{
      .session = session, .name = "tracker", .lease = options_.tracker.recovery.lease};
  if (options_.wanted) {
    const auto begun = database.begin_session(
        named, clock.wall_now(),
        {.silent = std::vector<jobtracker::SessionHeartbeat>{}, .wanted = *options_.wanted});
    life_->store = std::make_unique<MemoryStore>(database, named, clock, begun.value());
  } else {
    life_->store = std::make_unique<MemoryStore>(database, named, clock);
  }
  FakeStoreConnection::Answers answers{
      .on_batch = [this](BatchDone done) { life_->tracker->on_batch_done(std::move(done)); },
      .on_read = [this](ReadDone done) { life_->tracker->on_read_done(std::move(done)); },
      .on_health = [this](bool is_away) { life_->tracker->on_store_health(is_away); }};
  life_->connection = std::make_unique<FakeStoreConnection>(*life_->store, life_->task_runner,
                                                            clock, std::move(answers));
  on_connection(*life_->connection);
  life_->questions = std::make_unique<FakeQuestions>(*this, life_->task_runner);
  life_->tracker = std::make_unique<JobTracker>(
      options_.tracker, session, clock, random, life_->task_runner, *life_->connection,
      *life_->questions, [] {}, [this](const Error& error) { fatal_ = error; });
  life_->tracker->set_poster(executors);
  life_->tracker->set_courier(courier);
  life_->tracker->go_on_from(std::exchange(memory_, {}));
  if (options_.is_shared) life_->tracker->proven(clock.steady_now());
  if (options_.wanted) look_around();
  life_->tracker->start(network);
}

// At the others; that proves it, as its beat would.
void TrackerBundle::look_around() {
  auto view = database.look(GroupId{});
  view.proven = clock.steady_now();
  life_->tracker->on_cluster(view);
  life_->task_runner.post_at(clock.steady_now() + kLooks, [this] { look_around(); });
}

void TrackerBundle::kill_tracker(bool commit_lands) {
  if (commit_lands) life_->connection->finish_unanswered();
  network.server_died();
  life_.reset();
}

void TrackerBundle::restart_after(Duration down, bool commit_lands) {
  kill_tracker(commit_lands);
  run_for(down);
  start_tracker();
}

void TrackerBundle::begin_next_session(const jobtracker::Partitions& wanted) {
  memory_ = tracker().take_memory(wanted);
  kill_tracker();
  database.end_session(session_);
  if (options_.wanted) options_.wanted = wanted;
  start_tracker();
}

std::int64_t TrackerBundle::stat(const std::string& name) {
  for (const jobtracker::Stat& one : tracker().stats()) {
    if (one.first == name) return one.second;
  }
  return -1;
}

FakeWorker& TrackerBundle::add_worker(FakeWorkerConfig config) {
  config.session = SessionId{static_cast<std::int64_t>(1000 + workers_.size()) + 100 * number_};
  workers_.push_back(std::make_unique<FakeWorker>(config, network, task_runner, clock));
  return *workers_.back();
}

std::vector<FakeWorker*> TrackerBundle::workers() {
  std::vector<FakeWorker*> all;
  for (const auto& worker : workers_) all.push_back(worker.get());
  return all;
}

std::vector<RunRecord> TrackerBundle::runs() const {
  std::vector<RunRecord> all;
  for (const auto& worker : workers_) {
    all.insert(all.end(), worker->runs().begin(), worker->runs().end());
  }
  std::stable_sort(all.begin(), all.end(), [](const RunRecord& one, const RunRecord& other) {
    return one.started < other.started;
  });
  return all;
}

std::vector<RunRecord> TrackerBundle::runs_of(const std::string& task_id) const {
  auto all = runs();
  std::erase_if(all, [&](const RunRecord& run) { return run.task_id != task_id; });
  return all;
}

wire::Submitted TrackerBundle::submit(std::vector<JobSpec> jobs) {
  const auto sequence = client.submit(std::move(jobs));
  run_until([&] { return client.answer_to(sequence) != nullptr; });
  const wire::Message* answer = client.answer_to(sequence);
  if (answer == nullptr || !std::holds_alternative<wire::Submitted>(*answer)) return {};
  return std::get<wire::Submitted>(*answer);
}

wire::SubmitAnswer TrackerBundle::submit(JobSpec job) {
  const auto submitted = submit(std::vector<JobSpec>{std::move(job)});
  return submitted.answers.empty() ? wire::SubmitAnswer{} : submitted.answers.front();
}

wire::Message TrackerBundle::act(wire::Act act) {
  const auto sequence = client.act(std::move(act));
  run_until([&] { return client.answer_to(sequence) != nullptr; });
  const wire::Message* answer = client.answer_to(sequence);
  return answer == nullptr ? wire::Message{} : *answer;
}

wire::Message TrackerBundle::act(wire::Verb verb, const std::string& task_id) {
  return act(wire::Act{.verb = verb, .group = "default", .task_id = task_id});
}

std::vector<wire::Row> TrackerBundle::query(wire::Query query) {
  const auto correlation = client.query(std::move(query));
  run_until([&] { return client.answer_to_query(correlation) != nullptr; });
  const wire::Message* answer = client.answer_to_query(correlation);
  if (answer == nullptr || !std::holds_alternative<wire::Rows>(*answer)) return {};
  return std::get<wire::Rows>(*answer).rows;
}

std::string TrackerBundle::shown_reason(const std::string& group, const std::string& task_id) {
  const auto rows = query({.what = "show", .group = group, .task_id = task_id});
  if (rows.empty()) return "no such task";
  for (const auto& [name, value] : rows[0]) {
    if (name != "reason") continue;
    return std::holds_alternative<std::string>(value) ? std::get<std::string>(value) : "none";
  }
  return "no such field";
}

std::vector<WaitingJob> TrackerBundle::waiting(const std::string& task_id) const {
  std::vector<WaitingJob> all;
  for (const auto& [group, table] : tables().waiting) {
    for (const auto& [id, job] : table.all()) {
      if (task_id.empty() || job.task_id == task_id) all.push_back(job);
    }
  }
  return all;
}

std::vector<WaitingJob> TrackerBundle::delayed() const {
  std::vector<WaitingJob> all;
  for (const auto& [id, job] : tables().delayed.all()) all.push_back(job);
  return all;
}

std::vector<jobtracker::LogEntry> TrackerBundle::log(const std::string& task_id) const {
  std::vector<jobtracker::LogEntry> all;
  for (const auto& [id, entry] : tables().log) {
    if (task_id.empty() || entry.task_id == task_id) all.push_back(entry);
  }
  return all;
}

const jobtracker::Definition* TrackerBundle::definition(const std::string& task_id) const {
  for (const auto& [id, row] : tables().definitions) {
    if (row.task_id == task_id) return &row;
  }
  return nullptr;
}

bool TrackerBundle::is_empty() const {
  return waiting().empty() && delayed().empty() && tables().executing.empty() &&
         tables().definitions.empty() && tables().keys.empty();
}

std::string TrackerBundle::story(const std::string& task_id) const {
  std::string text;
  for (const RunRecord& run : runs_of(task_id)) {
    text += "ran job " + std::to_string(run.id.job_id.value) + " attempt " +
            std::to_string(run.id.attempt) + " on " + run.worker + " for " +
            format_time(run.trigger_time) + " at " + format_time(run.started_wall) + "\n";
  }
  for (const jobtracker::LogEntry& entry : log(task_id)) {
    text += std::string(to_string(entry.state)) + " job " + std::to_string(entry.job_id.value) +
            " " + format_time(entry.trigger_time) + " x" + std::to_string(entry.count) + " " +
            entry.message + "\n";
  }
  return text;
}

// ---- jobs for tests ----

namespace {

JobSpec job(const std::string& task_id, ScheduleKind kind) {
  JobSpec spec{.task_id = task_id};
  spec.schedule.kind = kind;
  spec.run.handler = "noop";
  return spec;
}

}  // namespace

std::vector<WallTime> triggers(const std::vector<RunRecord>& runs) {
  std::vector<WallTime> all;
  for (const RunRecord& run : runs) all.push_back(run.trigger_time);
  return all;
}

std::vector<jobtracker::LogState> states(const std::vector<jobtracker::LogEntry>& log) {
  std::vector<jobtracker::LogState> all;
  for (const jobtracker::LogEntry& entry : log) all.push_back(entry.state);
  return all;
}

std::set<WallTime> triggers_once(const std::vector<RunRecord>& runs) {
  std::set<WallTime> all;
  for (const RunRecord& run : runs) {
    EXPECT_TRUE(all.insert(run.trigger_time).second) << "no fire runs twice";
  }
  return all;
}

std::int64_t skipped(const TrackerBundle& bundle, const std::string& task_id) {
  std::int64_t all = 0;
  for (const jobtracker::LogEntry& entry : bundle.log(task_id)) {
    if (entry.state == jobtracker::LogState::kSkipped) all += entry.count;
  }
  return all;
}

JobSpec job_now(const std::string& task_id) { return job(task_id, ScheduleKind::kNow); }

JobSpec job_at(const std::string& task_id, WallTime at) {
  JobSpec spec = job(task_id, ScheduleKind::kAt);
  spec.schedule.at = at;
  return spec;
}

JobSpec job_cron(const std::string& task_id, const std::string& cron) {
  JobSpec spec = job(task_id, ScheduleKind::kCron);
  spec.schedule.cron = cron;
  spec.schedule.tz = "UTC";
  return spec;
}

JobSpec job_every(const std::string& task_id, Duration interval) {
  JobSpec spec = job(task_id, ScheduleKind::kEvery);
  spec.schedule.interval = interval;
  return spec;
}

JobSpec job_fixed_delay(const std::string& task_id, Duration interval) {
  JobSpec spec = job(task_id, ScheduleKind::kFixedDelay);
  spec.schedule.interval = interval;
  return spec;
}

JobSpec job_manual(const std::string& task_id) { return job(task_id, ScheduleKind::kManual); }

}  // namespace carillon::testing
