#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "carillon/ids.h"
#include "carillon/job_result.h"
#include "carillon/job_spec.h"
#include "carillon/result.h"
#include "carillon/time.h"

// Submits jobs to a job tracker, acts on them and asks about them.
//
//   auto client = carillon::JobClient::open({});
//   auto answers = client.value()->submit({job});
//
// What was accepted is on disk. Every changing request is numbered: after a broken connection, or
// a second without an answer, it is sent again with the same number, and a tracker that had taken
// it already gives the first answer. So a call that returns has happened once, or not at all; only
// kTimeout leaves it open.
//
// While no tracker is reachable, submissions are stored in an outbox on this machine's disk, each
// answered kStored, and delivered in order once one is, by this client, or by the next that opens
// the same folder for one of the same trackers. Calls that change something come after them.
//
// Errors: kUnavailable, no tracker took it within connect_timeout, because none was reachable or
// each was just starting or stopping · kTimeout, it was sent, and no answer came within
// answer_timeout: a tracker may have taken it · kDenied, the tracker does not let this user in ·
// the others as the tracker says.
//
// Thread: any. One client serves any number of threads, and that is the fast way: what waits at
// the same time travels together. A client has a thread of its own inside, and one for its outbox;
// many clients in one process work too.
namespace carillon {

class ClientThread;

struct SubmitAnswer;

// What becomes of submissions while no job tracker is reachable.
enum class OutboxUse : int {
  kOff = 0,      // refused with kUnavailable
  kDeliver = 1,  // the same; but what earlier ones have stored is delivered
  kStore = 2,    // stored
};

struct JobClientOptions {
  // The first is used; when it is not reachable, the next, and so on in a circle.
  std::vector<std::string> trackers{"tcp://127.0.0.1:35001"};
  // How long a call waits for a connection.
  Duration connect_timeout = std::chrono::seconds{5};
  // How long a call whose request was sent waits for the answer, from its begin, over reconnects.
  Duration answer_timeout = std::chrono::seconds{30};
  // Access, only one of them. None: on loopback, the token that a tracker of the same user wrote.
  std::string token_file{};  // a file with the tracker's token
  std::string keys{};        // a folder with CURVE keys
  bool insecure = false;     // the tracker asks for nothing

  OutboxUse outbox = OutboxUse::kStore;
  // Where the outbox is. Empty: $XDG_STATE_HOME/carillon/jobclient, or that below ~/.local/state.
  std::string data{};
  // More than so many bytes, or 100 000 entries, are not stored; submit() answers kLimit then. What
  // was delivered and not accepted counts too, until `jobclient flush` has shown it.
  std::int64_t outbox_bytes_max = std::int64_t{256} << 20;
  bool logs_stored_for_others = true;  // what lies there for other trackers, once
  // Called on the client's own thread for each stored job that was delivered, with what came of it;
  // must neither block nor call into the client. Without it, those that were not accepted are
  // logged.
  std::function<void(const SubmitAnswer&)> on_delivered{};
};

enum class SubmitStatus : int {
  kAccepted = 0,
  kDuplicate = 1,
  kRejected = 2,
  kStored = 3,
  // Of some jobs of a call, where others of it were answered:
  kUnanswered = 4,  // a job tracker may have taken it: ask before repeating
  kNotTaken = 5     // none has: it may be submitted again
};

// "accepted", "duplicate", "rejected", "stored", "unanswered", "not_taken".
const char* to_string(SubmitStatus status);

struct SubmitAnswer {
  std::string task_id{};  // given or made
  std::string group{};
  JobId job_id{};  // of the job, or of a schedule's first run; 0 for a manual job, and if refused
  SubmitStatus status = SubmitStatus::kRejected;
  std::string tz{};                  // the zone that a cron job was stored with
  std::string reason{};              // why not accepted, or why it was stored
  std::string warning{};             // accepted, but something looks wrong
  std::optional<ErrorCode> error{};  // unanswered or not taken: of the reason
};

// How many stored jobs were delivered.
struct FlushAnswer {
  std::int64_t accepted = 0;
  std::int64_t refused = 0;  // each was told to on_delivered, or logged
};

// A job as its user knows it.
struct TaskRef {
  std::string task_id{};
  std::string group = "default";
};

// What an action came to.
struct ActAnswer {
  JobId job_id{};         // trigger: the occurrence made
  std::string message{};  // what happened, for a person
};

struct TriggerOptions {
  std::optional<std::string> payload{};  // instead of the job's own
  bool force = false;                    // whatever its overlap says
  std::vector<std::string> addresses{};  // of its xxl-job executors, these only
};

// A row of an answer: names and values, in order. Times are RFC 3339 text, 64-bit ids text too.
using Field = std::variant<std::monostate, bool, std::int64_t, double, std::string>;
using Row = std::vector<std::pair<std::string, Field>>;

// The value of a field, or nullptr where the row has none.
const Field* find_field(const Row& row, const std::string& name);
// The same as text; empty where the row has none.
std::string field_text(const Row& row, const std::string& name);

// Which rows; what does not apply to a question is ignored.
struct RowFilter {
  std::string group{};              // empty: every group
  std::string task_id{};            // empty: every task
  JobId job_id{};                   // 0: every job
  std::optional<WallTime> since{};  // history: ended later than this; counts: from here on
  std::optional<WallTime> until{};  // counts: before this
  std::int64_t limit = 0;           // at most so many rows; 0: as the tracker likes
  std::string after{};              // the `next` of the page before, to go on
  // history: only rows with one of these values of `state`; empty: all
  std::vector<std::string> states{};
};

// A version of a task's script.
struct Script {
  std::string language{};  // empty: as it is
  std::string source{};
  std::string remark{};      // what is new in it, for people
  std::int64_t version = 0;  // 0: it is used from now on; otherwise it was used elsewhere, at that
                             // time in ms since 1970, and is only kept
};

// What goes from the history.
struct CleanRule {
  std::string group{};                     // empty: of every group
  std::string task_id{};                   // empty: of every task
  std::optional<WallTime> ended_before{};  // only what did
  std::optional<std::int64_t> keep{};      // but not the newest so many rows
};

struct RowPage {
  std::vector<Row> rows{};
  std::string next{};  // empty: that was all
};

// What a listener asks for, and what it has done with since; docs/reference/protocol.md has the
// rules.
// FeedbackListener follows them for you.
struct FeedbackFetch {
  std::string client_group{};
  std::int64_t listener = 0;         // drawn at random, once
  std::vector<std::int64_t> done{};  // results that are done with, by id
  bool refused = false;              // the first that is not done could not be taken
  std::int64_t limit = 0;            // 0: none now, but keep what it was given
};

// The most jobs that wait inside one client; submit() answers kLimit beyond, and while one has
// waited for a third of the answer_timeout: then more come than the job tracker takes. What was to
// be sent and has waited for half of it is answered kLimit as well: none of it was taken.
inline constexpr std::size_t kJobsQueuedMax = 200'000;

class JobClient {
 public:
  // kInvalidArgument: an option that cannot be, such as an address that is none. Does not wait for
  // a connection; calls do.
  static Result<std::unique_ptr<JobClient>> open(const JobClientOptions& options);

  // Over a connection of another kind; for JobClient::open() and for tests.
  explicit JobClient(std::unique_ptr<ClientThread> thread);
  // No call may be under way.
  ~JobClient();
  JobClient(const JobClient&) = delete;
  JobClient& operator=(const JobClient&) = delete;

  // One answer a job, in order. Up to kJobsQueuedMax jobs: they travel in messages of up to a
  // thousand, several on the way at a time. Where one of them fails, its jobs are kUnanswered or
  // kNotTaken; what was not sent until then is not sent, and kNotTaken; the others have their
  // answers. An error is about each job alike: with kTimeout and kCorrupt each may have been
  // accepted, with others none was.
  Result<std::vector<SubmitAnswer>> submit(std::vector<JobSpec> jobs);
  Result<SubmitAnswer> submit_one(JobSpec job);
  // As submit(); the jobs are suspended from the beginning, and run when somebody resumes them.
  Result<std::vector<SubmitAnswer>> submit_suspended(std::vector<JobSpec> jobs);
  // Does not wait: `done` is called on the client's own thread, and must neither block nor call
  // into the client. When the client is closed before, it is called with kUnavailable, or with
  // kTimeout once the jobs were sent; they are not stored then.
  using SubmitDone = std::function<void(Result<std::vector<SubmitAnswer>>)>;
  void submit_async(std::vector<JobSpec> jobs, SubmitDone done);

  // Waits until everything that was stored is delivered. kUnavailable: none was reachable within
  // connect_timeout, or took any within `longest`, answer_timeout where it is not given; the next
  // call that has to wait for the same goes on where this one stopped.
  Result<FlushAnswer> flush(std::optional<Duration> longest = {});

  // Final, also for a job that is running.
  Result<ActAnswer> cancel(const TaskRef& task);
  Result<ActAnswer> suspend(const TaskRef& task);
  Result<ActAnswer> resume(const TaskRef& task);
  // Makes one run now, ahead of everything in its group; of a job that runs once and waits, its
  // only one.
  Result<ActAnswer> trigger(const TaskRef& task, const TriggerOptions& options = {});
  // Stops what is running of it, and ends what waits to be tried again. A run that was killed is
  // not tried again, whatever retries it has left; the coming fires of a schedule stay.
  Result<ActAnswer> kill(const TaskRef& task);
  Result<ActAnswer> kill(JobId job);
  // Lists xxl-job executors of a group by hand: these and no others stay in service without
  // registering. `token` is sent with every call of the group's; none: the one it has.
  Result<ActAnswer> add_executors(const std::string& group, std::vector<std::string> addresses,
                                  std::optional<std::string> token = {});

  // Splits a node group into so many parts, 2, 4, 8, 16, 32 or 64, which several job trackers may
  // look after; order of hand-out is within a part. It is not undone.
  Result<ActAnswer> split_group(const std::string& group, std::int32_t parts);
  // Such a group without jobs is one no more, until an executor of it registers again.
  Result<ActAnswer> remove_executor_group(const std::string& group);

  // Gives a defined task that runs a script another one. The runs that begin from now on have it,
  // also those that wait for their retry; the newest 30 versions are kept.
  Result<ActAnswer> set_script(const TaskRef& task, const Script& script);
  // An earlier version is the newest one again, under a number of its own.
  Result<ActAnswer> restore_script(const TaskRef& task, const std::string& version,
                                   const std::string& remark = {});

  // Deletes from the history, with what the runs wrote; how many rows went. Rows of a job that
  // waits or runs stay. Step by step: after an error some may be gone.
  Result<std::int64_t> clean_history(const CleanRule& rule);

  // A page of rows each; the fields of a row stand in docs/reference/protocol.md.
  Result<RowPage> list(const RowFilter& filter = {});       // definitions
  Result<RowPage> waiting(const RowFilter& filter = {});    // jobs to run
  Result<RowPage> executing(const RowFilter& filter = {});  // jobs handed out
  Result<RowPage> history(const RowFilter& filter = {});    // what ended, newest first
  Result<RowPage> nodes(const RowFilter& filter = {});
  Result<RowPage> groups(const RowFilter& filter = {});
  // How many ended, by group, in whole half hours; also of rows that the history has forgotten.
  Result<RowPage> counts(const RowFilter& filter);
  // One row with all there is to know; its field `spec` is the job as a JSON object.
  Result<RowPage> show(const TaskRef& task);
  // The versions of its script, newest first; one of them, or that in use, with its `source`.
  Result<RowPage> scripts(const TaskRef& task);
  Result<RowPage> script(const TaskRef& task, const std::string& version = {});
  Result<RowPage> stats();         // one row of counters
  Result<RowPage> job(JobId job);  // one row: its state, and `done` once it has ended
  // What a job wrote: by job_id, or the newest of task_id. `next` is always given, to ask again
  // for what it writes later.
  Result<RowPage> output(const RowFilter& filter);

  // Waits until something has ended, ten seconds at most.
  Result<std::vector<JobResult>> fetch_feedback(const FeedbackFetch& fetch);

 private:
  const std::unique_ptr<ClientThread> thread_;
};

}  // namespace carillon
