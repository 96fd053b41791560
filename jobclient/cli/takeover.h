#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "carillon/job_client.h"
#include "jobclient/cli/context.h"
#include "jobclient/cli/tasks_here.h"
#include "shared/sql/sql_connection.h"

// Jobs of another scheduler on their way to a job tracker: what would be submitted or what came of
// it, and what a person should know of each.
//
// Thread: the owner's.
namespace carillon::cli {

// What becomes of one entry of the other scheduler.
struct TakenJob {
  std::string task_id{};
  Result<JobSpec> job = Error{};     // or why it is not taken over
  bool is_suspended = false;         // there, and shall be here
  std::vector<std::string> notes{};  // what differs
  std::vector<Script> scripts{};     // what its script was before, the oldest first
};

// The database that the verb's URL names; "-" reads the URL from stdin. `which`: the one that it
// has to name, "the one that ...".
Result<std::unique_ptr<sql::Connection>> open_database(const Context& context,
                                                       const std::string& which);

class Takeover {
 public:
  // `from` is the other scheduler, as people call it.
  Takeover(Context& context, std::string from, std::vector<TakenJob> jobs);

  // Submits them. Changes nothing of what is here, or has run here, unless a job says to replace
  // it: what ends leaves no task behind, so its id alone would not make it a duplicate the second
  // time, but the history knows. An error: nothing was submitted. Where some of it then fails,
  // their entries say so, and end() does.
  Status apply();

  const TakenJob& job(std::size_t i) const { return jobs_[i]; }
  const std::string& status(std::size_t i) const { return outcomes_[i].status; }
  // What a person should know of an entry: what is new, then what differs where it is taken over.
  std::vector<std::string> notes(std::size_t i) const;
  // The same in one line.
  std::string note(std::size_t i) const;

  // Each note once, with the tasks that it is said of.
  void print_notes() const;
  // A line that says what was done, and the exit status.
  int end(bool is_applied) const;

 private:
  struct Outcome {
    std::string status{};
    std::vector<std::string> notes{};
  };

  static Outcome duplicate();
  static Outcome outcome_of(const SubmitAnswer& answer);
  Status look_what_is_here(JobClient& client);
  bool is_here(std::size_t i) const;
  std::vector<JobSpec> specs_of(const std::vector<std::size_t>& places) const;
  void take(const std::vector<std::size_t>& places, Result<std::vector<SubmitAnswer>> answered);
  Status keep_scripts(JobClient& client, std::size_t i);
  void compare(std::size_t i);
  void compare_state(std::size_t i, const Row& here);
  void note_difference(std::size_t i, const char* what, const std::string& there,
                       const std::string& here);
  std::ptrdiff_t count(const std::string& status) const;

  Context& context_;
  const std::string from_;
  std::vector<TakenJob> jobs_;
  std::vector<Outcome> outcomes_;   // one a job
  std::optional<Error> failure_{};  // the first, while they were submitted
  // Of those that are not to be replaced.
  std::map<TaskKey, Row> defined_;
  std::set<TaskKey> has_run_;
};

}  // namespace carillon::cli
