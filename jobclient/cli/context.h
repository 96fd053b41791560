#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/job_client.h"
#include "jobclient/cli/exit_status.h"
#include "jobclient/cli/row_output.h"
#include "jobclient/cli/terminal.h"
#include "shared/base/clock.h"
#include "shared/base/configuration.h"
#include "shared/base/mutex.h"
#include "shared/sql/sql_connection.h"

// What a verb of jobclient works with: what was asked for, and the world around it. main makes it
// of the process, a test of its own things.
//
// Thread: the owner's.
namespace carillon::cli {

struct Surroundings {
  const Program& program;
  const Clock& clock;
  std::ostream& out;
  std::ostream& err;
  int input = 0;  // the descriptor of stdin
  Terminal terminal{};
  Result<Zone> zone = Zone::utc();  // of this machine, or why it is not known
  std::string user{};               // who runs jobclient
  std::string state_folder{};       // --data where none is given; empty: there is none
  // `on_delivered` as in JobClientOptions.
  using OnDelivered = std::function<void(const SubmitAnswer&)>;
  std::function<Result<std::unique_ptr<JobClient>>(const Configuration&, OnDelivered)>
      open_client{};
  // By its mysql:// URL; and what a person should do where there is no such database.
  std::function<Result<std::unique_ptr<sql::Connection>>(const std::string& url,
                                                         const std::string& if_missing)>
      open_database{};
  std::function<void(Duration)> pause{};
  // In the user's browser, if there is a display; empty: never.
  std::function<void(const std::string& url)> open_page{};
};

class Context {
 public:
  Context(const Configuration& its_configuration, const Surroundings& its_surroundings);

  const Configuration& configuration;
  const Surroundings& around;
  const RowStyle style;

  std::ostream& out() const { return around.out; }
  std::ostream& err() const { return around.err; }
  // Text of a job as stdout or stderr should show it: nothing in it may control a terminal.
  std::string for_out(std::string_view text) const;
  std::string for_err(std::string_view text) const;
  // To be called before rows are shown: whether their times are in another zone than asked for.
  void say_zone() const;
  bool is_json() const { return style.format == Format::kJson || style.format == Format::kJsonl; }

  // Opened when it is first asked for. What was stored before is delivered then, and people are
  // told of it on stderr; if no tracker is reachable, it stays where it is.
  Result<JobClient*> client();
  // The same, but nothing is delivered unless it is asked to.
  Result<JobClient*> client_as_it_is();
  // Ends the client. People are told of what else was delivered.
  void close_client();
  // What became of stored jobs since the last call.
  std::vector<SubmitAnswer> take_delivered();
  // Says on stderr what is stored for other trackers, and is not delivered.
  void tell_of_others() const;
  // Their addresses, as jobs are stored for them.
  std::vector<std::string> job_trackers() const;
  // Where jobs are stored; empty: nowhere.
  std::string data_folder() const;

  // Says "jobclient: verb: message" on stderr, with -o json or jsonl as a JSON object, and answers
  // `status`.
  int fail(int status, const std::string& message);
  // The same for an error that came from a tracker, or on the way to it.
  int fail(const Error& error);

  // The value of an optional number.
  std::optional<std::int64_t> number(const char* name) const;
  // The task that the verb's TASK_ID and --group name.
  TaskRef task() const;

 private:
  void remind_of_refused();
  void tell_delivered();

  Mutex mutex_;  // the client's thread tells of what was delivered
  std::vector<SubmitAnswer> delivered_ CARILLON_GUARDED_BY(mutex_){};
  std::unique_ptr<JobClient> client_;  // last, so that it ends first
};

inline constexpr const char* kCannotWrite = "cannot write the output (is the disk full?)";

// What to do instead of an empty filter: a script's empty variable must not ask for everything.
inline constexpr const char* kAllIfLeftOut = "leave it out to see all";

// A failure on stderr; `verb` may be empty.
void print_failure(std::ostream& err, bool as_json, const std::string& verb, int status,
                   const std::string& message);

// --group, with "default" as its default or with none.
Option group_option(bool with_default, const char* help);

}  // namespace carillon::cli
