#include "tests/bench/direct_store.h"

#include <thread>
#include <utility>

#include <time.h>

#include "jobtracker/store/names.h"
#include "jobtracker/store/sql/mysql_store.h"
#include "jobtracker/store/sql/sqlite_store.h"
#include "shared/base/assert.h"
#include "shared/base/random.h"
#include "shared/wire/codec.h"

namespace carillon::bench {
namespace {

constexpr std::chrono::milliseconds kBulkPause{1};

using namespace jobtracker;

constexpr std::string_view kSqlite = "sqlite:";

ScheduleText describe_nothing(std::string_view) { return {}; }

}  // namespace

// Adds the life of this object to what was spent.
class DirectStore::Stopwatch {
 public:
  explicit Stopwatch(DirectStore& store)
      : store_(store), began_(store.clock_.steady_now()), cpu_began_(cpu_of_thread()) {}
  ~Stopwatch() {
    store_.time_ += std::chrono::duration_cast<Duration>(store_.clock_.steady_now() - began_);
    store_.cpu_ += cpu_of_thread() - cpu_began_;
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  static Duration cpu_of_thread() {
    timespec used{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return std::chrono::floor<Duration>(std::chrono::seconds{used.tv_sec} +
                                        std::chrono::nanoseconds{used.tv_nsec});
  }

  DirectStore& store_;
  const SteadyTime began_;
  const Duration cpu_began_;
};

Result<std::unique_ptr<DirectStore>> DirectStore::open(const std::string& url, const Clock& clock,
                                                       const BatcherConfig& config) {
  std::unique_ptr<DirectStore> direct{new DirectStore{clock}};
  CARILLON_TRY(direct->open_store(url));
  direct->batcher_ = std::make_unique<Batcher>(config, *direct, clock, direct->log_);
  const auto answer = CARILLON_TRY(direct->ask(ReadStart{}));
  direct->ids_ = std::make_unique<IdSource>(std::get<StartAnswer>(answer).id_high);
  return direct;
}

Status DirectStore::open_store(const std::string& url) {
  SystemRandom random;
  const StoreSession session{
      .session = SessionId{static_cast<std::int64_t>(random.next() >> 2) + 1}, .name = "bench"};
  if (url.rfind(kSqlite, 0) != 0) {
    // One that was killed is silent before that; one that works is not waited for.
    const StandBy stand_by{.on_other = [](const SessionHeartbeat&) {},
                           .on_quiet = [](const std::vector<SessionHeartbeat>&) {},
                           .wait =
                               [looks = 0](Duration longest) mutable {
                                 std::this_thread::sleep_for(longest);
                                 return ++looks < 10;
                               }};
    store_ = CARILLON_TRY(
                 open_mysql_store({}, url, session, describe_nothing, {}, stand_by, clock_, log_))
                 .store;
    return {};
  }
  const std::string path = url.substr(kSqlite.size());
  store_ = CARILLON_TRY(open_sqlite_store(path, session, describe_nothing, clock_, log_)).store;
  return start_checkpoints(path);
}

Status DirectStore::start_checkpoints(const std::string& path) {
  std::shared_ptr<SqliteCheckpointer> checkpointer = CARILLON_TRY(SqliteCheckpointer::open(path));
  checkpoints_ = CARILLON_TRY(Thread::start("checkpoint", [this, checkpointer] {
    while (!stop_.wait_for(SqliteCheckpointer::kPeriod)) {
      const Status status = checkpointer->run_once();
      if (!status.ok()) log_.warn("no checkpoint", "error", status.error().message);
    }
  }));
  return {};
}

DirectStore::~DirectStore() {
  stop_.signal();
  if (checkpoints_) checkpoints_->join();
}

Result<GroupId> DirectStore::make_group(const std::string& name) {
  const auto answer = CARILLON_TRY(ask(MakeGroup{.name = name}));
  return std::get<GroupAnswer>(answer).group.id;
}

WaitingJob DirectStore::make_job(JobSpec spec, GroupId group, WallTime trigger_time) {
  const JobId id = ids_->next_job(clock_.wall_now());
  const bool keyed = !spec.task_id.empty();
  if (!keyed) spec.task_id = made_task_id(id);
  WaitingJob job{.id = id, .group = group, .task_id = spec.task_id, .keyed = keyed};
  job.kind = spec.schedule.kind;
  job.priority = spec.priority;
  job.trigger_time = trigger_time;
  job.spec = wire::encode_spec(spec);
  return job;
}

Status DirectStore::commit_one() {
  const BatchHead head{.now = clock_.wall_now(), .id_high = ids_->high(), .recovered = true};
  batcher_->flush(head);
  while (!done_ && failed_.ok()) {  // All that waits is a bulk load, which is not to go yet.
    CARILLON_ASSERT(batcher_->pending_rows() > 0, "there is something to commit");
    std::this_thread::sleep_for(kBulkPause);
    batcher_->flush(head);
  }
  CARILLON_TRY(failed_);
  while (done_) {
    const bool goes_on = batcher_->on_batch_done(*std::exchange(done_, std::nullopt), head);
    CARILLON_ASSERT(goes_on, "nobody else opens this store");
    CARILLON_TRY(failed_);
  }
  return {};
}

void DirectStore::commit(Batch batch) {
  CommitResult result = [&] {
    const Stopwatch stopwatch(*this);
    return store_->commit(batch);
  }();
  if (auto* committed = std::get_if<Committed>(&result)) {
    done_ = BatchDone{std::move(batch), std::move(*committed)};
  } else if (auto* rolled_back = std::get_if<RolledBack>(&result)) {
    failed_ = rolled_back->error;
  } else {
    failed_ = Error{ErrorCode::kUnavailable, "the connection to the store broke"};
  }
}

Result<ReadAnswer> DirectStore::ask(const Read& question) {
  const Stopwatch stopwatch(*this);
  return store_->read(question);
}

void DirectStore::read(std::uint64_t token, Read question) {
  batcher_->on_read_done({.token = token, .answer = ask(question)});
}

}  // namespace carillon::bench
