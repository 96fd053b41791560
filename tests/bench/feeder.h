#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "carillon/job_client.h"
#include "shared/base/mutex.h"
#include "shared/runtime/thread.h"
#include "tests/bench/workload.h"

namespace carillon::bench {

struct Feed {
  std::vector<std::string> groups{};
  // Jobs a second, whatever becomes of them; 0: as many as are run, so that `ahead` always wait.
  double rate = 0;
  std::int64_t ahead = 20'000;
  int clients = 1;  // that submit in turn
};

// What came of it.
struct Fed {
  std::vector<JobId> accepted{};
  std::int64_t offered = 0;
  // Jobs that the client library answered with kLimit: it has room for so many only.
  std::int64_t turned_away = 0;
  // Jobs that the job tracker refused with kLimit for as long as the client library asked it.
  std::int64_t refused = 0;
};

// Submits jobs from a thread and with clients of its own.
//
// Thread: the one that started it.
class Feeder {
 public:
  static Result<std::unique_ptr<Feeder>> start(const Round& round, const Feed& feed);
  ~Feeder();  // as stop()
  Feeder(const Feeder&) = delete;
  Feeder& operator=(const Feeder&) = delete;

  std::int64_t accepted_so_far();
  // Submits nothing more, and waits for the answers that are still to come. Jobs that were turned
  // away or refused are no error: none of them was taken.
  Result<Fed> stop();

 private:
  Feeder(const Round& round, const Feed& feed) : clock_(round.clock), feed_(feed) {}
  void run();
  Status keep_ahead();
  void keep_rate();
  void submit(std::int64_t jobs);
  void take(std::int64_t jobs, const Result<std::vector<SubmitAnswer>>& answers);

  const Clock& clock_;
  const Feed feed_;
  std::atomic<bool> stopping_{false};
  std::int64_t number_ = 0;  // of the next job
  Mutex mutex_;              // of what the clients' threads add to:
  Fed fed_ CARILLON_GUARDED_BY(mutex_);
  Status failed_ CARILLON_GUARDED_BY(mutex_);
  std::int64_t unanswered_ CARILLON_GUARDED_BY(mutex_) = 0;
  std::vector<std::unique_ptr<JobClient>> clients_{};
  std::size_t calls_ = 0;
  std::unique_ptr<Thread> thread_{};
};

}  // namespace carillon::bench
