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

// Submits jobs to a job tracker, changes jobs and queries them.
//
//   auto client = carillon::JobClient::open({});
//   auto answers = client.value()->submit({job});
//
// An accepted job is on disk. Each changing request has a number. The client resends a request with
// the same number after a lost connection or a second without an answer. A job tracker that has
// already accepted the number repeats its first answer. So a request takes effect at most once, and
// exactly once if the call succeeds. After kTimeout the outcome is unknown.
//
// While no job tracker is reachable, the outbox on the local disk stores submissions, and the
// answer is kStored. They are delivered in order as soon as a job tracker is reachable, by this
// client or by the next client with the same folder and one of the same job trackers. Later
// changing calls wait for their delivery.
//
// Errors: kUnavailable if no job tracker accepted the request within connect_timeout, because each
// was unreachable, starting or stopping. kTimeout if the request was sent and no answer arrived
// within answer_timeout; a job tracker may have accepted it. kDenied if the job tracker denies
// access. Other codes come from the job tracker.
//
// Thread: any. Share one client between threads: it sends concurrent requests together. A client
// has its own thread and a thread for its outbox. A process may have many clients.
namespace carillon {

class ClientThread;

struct SubmitAnswer;

// What happens to submissions while no job tracker is reachable.
enum class OutboxUse : int {
  kOff = 0,      // rejected with kUnavailable
  kDeliver = 1,  // rejected with kUnavailable, but earlier stored submissions are delivered
  kStore = 2,    // stored in the outbox
};

struct JobClientOptions {
  // Addresses of job trackers. The client uses the first one. If it is unreachable, the client
  // tries the next, and starts again after the last.
  std::vector<std::string> trackers{"tcp://127.0.0.1:35001"};
  // URL of a job tracker's HTTP API, instead of `trackers`: "https://HOST[:PORT][/PATH]". It needs
  // `token_file` with a token of `jobclient tokens new`. http:// beyond this machine also needs
  // `insecure`, because others can then read the token.
  std::string http{};
  std::string ca_file{};  // PEM file with the authorities of an https URL; empty: the system's
  // Longest wait for a connection.
  Duration connect_timeout = std::chrono::seconds{5};
  // Longest wait for the answer to a sent request, counted from the start of the call across
  // reconnects.
  Duration answer_timeout = std::chrono::seconds{30};
  // Access; set at most one. By default, on a loopback address, the client uses the token that a
  // job tracker of the same user wrote.
  std::string token_file{};  // a file with the job tracker's token; with `http`, with an API token
  std::string keys{};        // a folder with CURVE keys
  bool insecure = false;     // for a job tracker without access control

  OutboxUse outbox = OutboxUse::kStore;
  // Folder of the outbox. Empty: $XDG_STATE_HOME/carillon/jobclient, by default under
  // ~/.local/state.
  std::string data{};
  // Limit of the outbox in bytes; its limit in entries is 100 000. Beyond either, submit() returns
  // kLimit. Delivered but rejected submissions count until `jobclient flush` has shown them.
  std::int64_t outbox_bytes_max = std::int64_t{256} << 20;
  // Log once that the outbox has entries for other job trackers.
  bool logs_stored_for_others = true;
  // Receives the answer to each stored job after delivery. Runs on the client's thread: it must
  // neither block nor call the client. If it is not set, rejected jobs are logged.
  std::function<void(const SubmitAnswer&)> on_delivered{};
};

enum class SubmitStatus : int {
  kAccepted = 0,
  kDuplicate = 1,
  kRejected = 2,
  kStored = 3,
  // For jobs of a partly answered call:
  kUnanswered = 4,  // a job tracker may have accepted it: check before you repeat it
  kNotTaken = 5     // no job tracker accepted it: it may be submitted again
};

// "accepted", "duplicate", "rejected", "stored", "unanswered", "not_taken".
const char* to_string(SubmitStatus status);

struct SubmitAnswer {
  std::string task_id{};  // given or generated
  std::string group{};
  JobId job_id{};  // of the job, or of a schedule's first run; 0 for a manual or rejected job
  SubmitStatus status = SubmitStatus::kRejected;
  std::string tz{};                  // the time zone that was stored with a cron job
  std::string reason{};              // why it was not accepted, or why it was stored
  std::string warning{};             // set for an accepted job that looks wrong
  std::optional<ErrorCode> error{};  // set for kUnanswered and kNotTaken: the code of the reason
};

// Numbers of stored jobs that were delivered.
struct FlushAnswer {
  std::int64_t accepted = 0;
  std::int64_t refused = 0;  // rejected; each was passed to on_delivered, or logged
};

// Identifies a job by its group and task id.
struct TaskRef {
  std::string task_id{};
  std::string group = "default";
};

// Result of an action on a job.
struct ActAnswer {
  JobId job_id{};         // of trigger(): the new run
  std::string message{};  // what happened, as text for people
};

struct TriggerOptions {
  std::optional<std::string> payload{};  // replaces the job's own payload
  bool force = false;                    // start even if the overlap rule forbids it
  std::vector<std::string> addresses{};  // restricts a pushed run to these xxl-job executors
};

// One row of an answer: names and values, in order. Times are RFC 3339 text; 64-bit ids are text.
using Field = std::variant<std::monostate, bool, std::int64_t, double, std::string>;
using Row = std::vector<std::pair<std::string, Field>>;

// The value of a field, or nullptr if the row does not have it.
const Field* find_field(const Row& row, const std::string& name);
// The value of a field as text, or empty text if the row does not have it.
std::string field_text(const Row& row, const std::string& name);

// Selects rows. A query ignores members that do not apply to it.
struct RowFilter {
  std::string group{};    // empty: every group
  std::string task_id{};  // empty: every task
  JobId job_id{};         // 0: every job
  // history: ended later than this; counts, audit, figures: from this time on
  std::optional<WallTime> since{};
  std::optional<WallTime> until{};  // counts, figures: before this
  std::int64_t limit = 0;           // at most this many rows; 0: the job tracker decides
  std::string after{};              // RowPage::next of the previous page
  // history: only rows with one of these values of `state`; empty: all
  std::vector<std::string> states{};
  std::string by{};  // audit: only changes of this principal; empty: of all
};

// A version of a task's script.
struct Script {
  std::string language{};  // empty: unchanged
  std::string source{};
  std::string remark{};  // comment on the version, for people
  // 0: use it from now on. Otherwise its time in ms since 1970: only store it.
  std::int64_t version = 0;
};

// A principal to add or change: a key, an API token or a user of the console.
struct PrincipalChange {
  std::string kind{};                 // "key", "token" or "user"
  std::string name{};                 // letters, digits and ._@-
  std::string role{};                 // viewer, operator, editor, worker or admin
  std::vector<std::string> groups{};  // node groups, or patterns like billing-* or *
  // key: the public CURVE key; token: its SHA-256 in hex; user: the Argon2id hash of the password.
  // Empty: unchanged.
  std::string secret{};
  std::optional<WallTime> expires{};  // none: never, or unchanged
  bool replaces = false;              // otherwise one with another secret is a conflict
  std::string language{};             // user: of the console; empty: unchanged
};

// Selects rows of the history to delete.
struct CleanRule {
  std::string group{};                     // empty: of every group
  std::string task_id{};                   // empty: of every task
  std::optional<WallTime> ended_before{};  // only rows that ended before this time
  std::optional<std::int64_t> keep{};      // keeps this many of the newest rows
};

struct RowPage {
  std::vector<Row> rows{};
  std::string next{};  // empty: that was all
};

// One request of a feedback listener. docs/reference/protocol.md has the rules; FeedbackListener
// implements them.
struct FeedbackFetch {
  std::string client_group{};
  std::int64_t listener = 0;         // a random number, drawn once per listener
  std::vector<std::int64_t> done{};  // ids of acknowledged results
  bool refused = false;    // the handler rejected the first result that is not acknowledged
  std::int64_t limit = 0;  // 0: no new results; keep the lease on delivered ones
};

// Most waiting jobs of one client. submit() returns kLimit beyond it, and also while a job has
// waited for a third of answer_timeout, because the job tracker accepts jobs too slowly. A job that
// has waited for half of answer_timeout also gets kLimit; it was not accepted.
inline constexpr std::size_t kJobsQueuedMax = 200'000;

class JobClient {
 public:
  // Returns without waiting for a connection. Error: kInvalidArgument for an invalid option, such
  // as a malformed address.
  static Result<std::unique_ptr<JobClient>> open(const JobClientOptions& options);

  // Uses a connection of another kind. For open() and tests.
  explicit JobClient(std::unique_ptr<ClientThread> thread);
  // Requires: no call is in progress.
  ~JobClient();
  JobClient(const JobClient&) = delete;
  JobClient& operator=(const JobClient&) = delete;

  // Returns one answer per job, in order. Accepts up to kJobsQueuedMax jobs and sends several
  // messages of up to a thousand jobs concurrently. If a message fails, its jobs are kUnanswered or
  // kNotTaken, and unsent jobs are kNotTaken; the others keep their answers. An error applies to
  // all jobs: after kTimeout and kCorrupt each may have been accepted, after other errors none was.
  Result<std::vector<SubmitAnswer>> submit(std::vector<JobSpec> jobs);
  Result<SubmitAnswer> submit_one(JobSpec job);
  // Like submit(), but the jobs are suspended until they are resumed.
  Result<std::vector<SubmitAnswer>> submit_suspended(std::vector<JobSpec> jobs);
  // Does not wait. `done` runs on the client's thread: it must neither block nor call the client.
  // If the client is closed first, `done` gets kUnavailable, or kTimeout for sent jobs; these jobs
  // are not stored.
  using SubmitDone = std::function<void(Result<std::vector<SubmitAnswer>>)>;
  void submit_async(std::vector<JobSpec> jobs, SubmitDone done);

  // Waits until all stored submissions are delivered. Error: kUnavailable if no job tracker was
  // reachable within connect_timeout, or accepted none within `longest` (default answer_timeout). A
  // later call continues the delivery.
  Result<FlushAnswer> flush(std::optional<Duration> longest = {});

  // Cancels a job permanently, even while it runs.
  Result<ActAnswer> cancel(const TaskRef& task);
  Result<ActAnswer> suspend(const TaskRef& task);
  Result<ActAnswer> resume(const TaskRef& task);
  // Creates one run now, ahead of all other jobs of its group. For a waiting one-shot job, it
  // advances the only run.
  Result<ActAnswer> trigger(const TaskRef& task, const TriggerOptions& options = {});
  // Stops running attempts and ends waiting retries. A killed run is not retried. Later fires of a
  // schedule are not affected.
  Result<ActAnswer> kill(const TaskRef& task);
  Result<ActAnswer> kill(JobId job);
  // Changes the priority of a waiting job, 0 to 999; smaller runs first. By task id: of a job that
  // runs once.
  Result<ActAnswer> set_priority(const TaskRef& task, int priority);
  Result<ActAnswer> set_priority(JobId job, int priority);
  // Lists xxl-job executors of a group by hand. Only these are in service, and they need not
  // register. `token` is sent with each call to the group; without a value it stays unchanged.
  Result<ActAnswer> add_executors(const std::string& group, std::vector<std::string> addresses,
                                  std::optional<std::string> token = {});

  // Splits a node group into 2, 4, 8, 16, 32 or 64 partitions, which several job trackers may own.
  // The order of jobs then holds within a partition. A split cannot be undone.
  Result<ActAnswer> split_group(const std::string& group, std::int32_t parts);
  // Removes an executor group without jobs. It returns when an executor of it registers again.
  Result<ActAnswer> remove_executor_group(const std::string& group);

  // Until this time no alarms about the node group and failures of its jobs are sent; none: they
  // are sent again.
  Result<ActAnswer> silence_alarms(const std::string& group, std::optional<WallTime> until);
  // Sends a test message to a mail address or a URL. Error: kConflict if it was not delivered.
  Result<ActAnswer> test_alarm(const std::string& recipient);

  // Replaces the script of a defined task. Runs that start from now on use it, retries included.
  // The newest 30 versions are kept.
  Result<ActAnswer> set_script(const TaskRef& task, const Script& script);
  // Makes an earlier version the newest one, under a new version number.
  Result<ActAnswer> restore_script(const TaskRef& task, const std::string& version,
                                   const std::string& remark = {});

  // Deletes rows and output from the history and returns the number of rows. Rows of a waiting or
  // executing job stay. Deletes in steps: after an error some rows may already be deleted.
  Result<std::int64_t> clean_history(const CleanRule& rule);

  // Each returns one page of rows; docs/reference/protocol.md has the fields.
  Result<RowPage> list(const RowFilter& filter = {});       // definitions
  Result<RowPage> waiting(const RowFilter& filter = {});    // waiting jobs
  Result<RowPage> executing(const RowFilter& filter = {});  // executing jobs
  Result<RowPage> history(const RowFilter& filter = {});    // ended attempts, newest first
  // Changes and refused attempts, newest first. Fields: time by kind address action group task_id
  // outcome before after.
  Result<RowPage> audit(const RowFilter& filter = {});
  Result<RowPage> nodes(const RowFilter& filter = {});
  Result<RowPage> groups(const RowFilter& filter = {});
  Result<RowPage> alarms(const RowFilter& filter = {});         // what is firing or silenced
  Result<RowPage> alarm_history(const RowFilter& filter = {});  // messages, newest first
  // Numbers of ended jobs by group and half hour, including rows that the history no longer keeps.
  Result<RowPage> counts(const RowFilter& filter);
  // The figures of each minute and group, oldest first, kept for 8 days.
  Result<RowPage> figures(const RowFilter& filter = {});
  // One row with all details of a job. Its field `spec` is the job as a JSON object.
  Result<RowPage> show(const TaskRef& task);
  // The versions of a task's script, newest first. The second call returns one version (by default
  // the current one) with its `source`.
  Result<RowPage> scripts(const TaskRef& task);
  Result<RowPage> script(const TaskRef& task, const std::string& version = {});
  Result<RowPage> stats();         // one row of counters
  Result<RowPage> job(JobId job);  // one row: its state, and `done` after its end
  // Output of a job by job_id, or of the newest run of task_id. `next` is always set, to read later
  // output.
  Result<RowPage> output(const RowFilter& filter);

  // One row about the principal of this connection: kind name role groups address.
  Result<RowPage> whoami();
  // Keys, tokens and users; for administrators. Fields: kind name role groups created_at created_by
  // expires_at language public_key.
  Result<RowPage> principals();
  Result<ActAnswer> put_principal(const PrincipalChange& change);
  // Its connections end within 5 seconds.
  Result<ActAnswer> remove_principal(const std::string& kind, const std::string& name);

  // Waits until a job has ended, at most ten seconds.
  Result<std::vector<JobResult>> fetch_feedback(const FeedbackFetch& fetch);

 private:
  const std::unique_ptr<ClientThread> thread_;
};

}  // namespace carillon
