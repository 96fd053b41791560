#pragma once

#include <deque>
#include <optional>
#include <string>

#include "jobclient/cli/context.h"
#include "jobclient/cli/signal_message.h"

// Prints what a job writes, as it comes, and knows when the job has ended.
// Thread: the owner's.
namespace carillon::cli {

// How often a job that is followed is asked about.
inline constexpr Duration kFollowInterval = std::chrono::milliseconds{50};

class OutputFollower {
 public:
  OutputFollower(Context& context, JobClient& client, JobId job, bool with_times);

  // Prints all new output: the job's stderr to stderr, all else to stdout; with -o json or jsonl
  // every row as an object on stdout. Fails as well when stdout cannot be written.
  Status print_new();
  // The first call of print_new() prints only so many of the last lines.
  void begin_with_last(std::int64_t lines) { tail_ = lines; }
  // Closes the array of -o json. Requires: called once, last.
  Status finish();
  bool has_printed() const { return has_printed_; }

 private:
  void print(const Row& row);
  std::string shown(bool on_stdout, std::string text);
  void keep_last(const Row& row);
  Status flush();

  Context& context_;
  JobClient& client_;
  RowOutput rows_;  // for -o json and jsonl
  RowFilter filter_{};
  const bool with_times_;
  std::optional<std::int64_t> tail_{};  // until the first call has printed
  std::deque<Row> last_{};              // the last `tail_` lines
  std::int64_t last_lines_ = 0;         // those of them that have ended
  std::string cut_out_{};               // the first bytes of a character whose others come later
  std::string cut_err_{};
  bool has_printed_ = false;
  bool at_line_start_ = true;
};

// What the job wrote lies with an executor that does not give it; it may do so later.
bool is_out_of_reach(const Status& printed);

// How far a job is. kNotFound: the job tracker knows no such job.
Result<Row> state_of_job(JobClient& client, JobId job);
bool is_done(const Row& job);
// It does not run before it is released.
bool is_quarantined(const Row& job);

// What to say when somebody stops to wait for a job that is so far.
std::string signal_message_on(const Context& context, JobId job, const Row& state);

// Says it when a signal ends the process, once it is known how far the job is.
// Thread: the owner's.
class SignalMessageOn {
 public:
  SignalMessageOn(const Context& context, JobId job) : context_(context), job_(job) { follow({}); }

  void follow(const Row& state);

 private:
  const Context& context_;
  const JobId job_;
  std::string said_{};
  std::optional<SignalMessage> words_{};
};

// How long a job may wait before whoever waits for it is told why nobody runs it.
inline constexpr Duration kWaitingPatience = std::chrono::seconds{1};

// Says on stderr, once, why nobody runs a job that waits.
// Thread: the owner's.
class WaitingReason {
 public:
  WaitingReason(Context& context, JobClient& client);

  void follow(const Row& state);

 private:
  Context& context_;
  JobClient& client_;
  SteadyTime ask_at_;
  bool was_said_ = false;
};

// Follows a job to its end and prints its output, and why it waits where nobody can run it; its
// last state.
Result<Row> follow_job(Context& context, JobClient& client, JobId job);

// What `--wait` exits with for a job that ended so: its own status, 128 + n when signal n ended
// it; 143 when it was stopped by its time-out or a kill and has no status; 125 when it never ran.
int exit_status_of_job(const Row& job);

// The end of submit --wait and of trigger --wait.
int wait_for_job(Context& context, JobClient& client, JobId job);

// The job of a task that is running, else the one that ran last, else the one that waits.
Result<JobId> newest_job_of(JobClient& client, const TaskRef& task);

}  // namespace carillon::cli
