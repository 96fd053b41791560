#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/job_spec.h"
#include "carillon/result.h"

// A crontab, read as Debian's and Fedora's cron read it, as jobs that do the same here.
//
// What carries over: the five fields and the macros, CRON_TZ, the environment lines, SHELL, `%`
// (stdin), the start in the home folder, runs that may overlap. What cannot is refused, each line
// with its reason: @reboot, the entries of other users.
//
// Thread: any.
namespace carillon::cli {

struct CrontabOptions {
  // Whether entries have a user's name before the command. Detected: in the files of the system,
  // and where an entry has "root" there, which is nobody's command.
  enum class Form { kDetect, kUser, kSystem };
  Form form = Form::kDetect;
  std::string path{};                // from where it was read
  std::vector<std::string> users{};  // system form: whose entries are taken
  std::string tz{};                  // where CRON_TZ says nothing
  std::string group = "default";
  std::string id_prefix = "cron-";
  Overlap overlap = Overlap::kParallel;
  MisfirePolicy misfire = MisfirePolicy::kFireOnce;
  bool replace = false;
};

// What became of one entry.
struct CrontabEntry {
  std::int64_t line = 0;
  std::string schedule{};         // as it is written
  std::string user{};             // system form
  std::string command{};          // as it is written
  Result<JobSpec> job = Error{};  // or why it is refused
  std::string note{};             // what a person should know about it
};

// kUser or kSystem, whichever a crontab seems to have.
CrontabOptions::Form detect_form(std::string_view text, const CrontabOptions& options);

// The entries, in order; comments and environment lines are none.
std::vector<CrontabEntry> read_crontab(std::string_view text, const CrontabOptions& options);

}  // namespace carillon::cli
