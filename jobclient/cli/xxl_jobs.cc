#include "jobclient/cli/xxl_jobs.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "jobclient/cli/shell_words.h"
#include "shared/base/time_text.h"
#include "shared/base/utf8.h"
#include "shared/job/cron.h"
#include "shared/wire/spec_words.h"

namespace carillon::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::int64_t kNextMsMax = 253'402'300'799'999;  // year 9999

Error wrong(std::string problem) { return {ErrorCode::kInvalidArgument, std::move(problem)}; }

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// The parts of a list by comma that are not blank.
std::vector<std::string> parts_of(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (const auto part = trimmed(list.substr(0, comma)); !part.empty()) parts.emplace_back(part);
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return parts;
}

std::optional<std::int64_t> number_of(std::string_view text) {
  text = trimmed(text);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool is_wanted(const XxlOptions& options, const std::string& app_name) {
  return options.groups.empty() ||
         std::find(options.groups.begin(), options.groups.end(), app_name) != options.groups.end();
}

// The languages of scripts; xxl-job names them by the interpreter.
std::string_view language_of(std::string_view glue_type) {
  constexpr std::pair<std::string_view, std::string_view> kLanguages[] = {
      {"GLUE_SHELL", "bash"},   {"GLUE_PYTHON", "python"}, {"GLUE_PYTHON2", "python2"},
      {"GLUE_PHP", "php"},      {"GLUE_NODEJS", "node"},   {"GLUE_POWERSHELL", "powershell"},
      {"GLUE_GROOVY", "groovy"}};
  for (const auto& [glue, language] : kLanguages) {
    if (glue == glue_type) return language;
  }
  return {};
}

class Names {
 public:
  Names(const XxlDatabase& database, const XxlOptions& options) : prefix_(options.prefix) {
    for (const XxlGroup& group : database.groups) groups_.emplace(group.id, group.app_name);
    for (const XxlJob& job : database.jobs) group_of_job_.emplace(job.id, job.group);
  }

  std::string task_id(std::int64_t job) const { return prefix_ + std::to_string(job); }
  // Null where the row of the group is gone.
  const std::string* app_name(std::int64_t group) const {
    const auto found = groups_.find(group);
    return found == groups_.end() ? nullptr : &found->second;
  }
  const std::string* app_name_of_job(std::int64_t job) const {
    const auto found = group_of_job_.find(job);
    return found == group_of_job_.end() ? nullptr : app_name(found->second);
  }

 private:
  const std::string prefix_;
  std::map<std::int64_t, std::string> groups_{};
  std::map<std::int64_t, std::int64_t> group_of_job_{};
};

// Makes the entry of one job.
class Maker {
 public:
  Maker(const XxlJob& row, const XxlDatabase& database, const Names& names,
        const XxlOptions& options)
      : row_(row), database_(database), names_(names), options_(options) {}

  XxlEntry make() {
    entry_.row = row_;
    entry_.task_id = names_.task_id(row_.id);
    if (const std::string* app_name = names_.app_name(row_.group)) entry_.group = *app_name;
    entry_.job = job();
    return std::move(entry_);
  }

 private:
  void note(std::string text) { entry_.notes.push_back(std::move(text)); }

  Result<JobSpec> job() {
    if (names_.app_name(row_.group) == nullptr) {
      return wrong("its executor group " + std::to_string(row_.group) + " does not exist");
    }
    JobSpec spec{.task_id = entry_.task_id, .group = entry_.group};
    spec.description = row_.name;
    spec.owner = row_.author;
    spec.schedule = CARILLON_TRY(schedule());
    spec.run = CARILLON_TRY(run());
    spec.payload = row_.param;
    spec.timeout = seconds{std::clamp<std::int64_t>(row_.timeout_s, 0, INT32_MAX)};
    spec.retries.max = static_cast<int>(std::clamp<std::int64_t>(row_.retries, 0, INT32_MAX));
    spec.retries.base = options_.retry_base;
    spec.overlap = overlap();
    if (spec.schedule.kind != ScheduleKind::kManual) spec.misfire.policy = misfire();
    spec.children = children();
    spec.alarm = alarm();
    spec.replace_on_exist = options_.replace;
    if (spec.run.kind == RunKind::kScript) take_scripts(spec.run);
    if (is_pushed()) {
      spec.dispatch = Dispatch::kPush;
      spec.push = CARILLON_TRY(push());
    } else {
      CARILLON_TRY(check_pull());
    }
    CARILLON_TRY(spec.validate());
    return spec;
  }

  Result<Schedule> schedule() {
    // A stopped one runs when somebody says so, in both.
    if (row_.schedule_type == "NONE") {
      entry_.schedule = "manual";
      return Schedule{.kind = ScheduleKind::kManual};
    }
    entry_.is_suspended = !row_.is_running;
    if (row_.schedule_type == "CRON") return cron();
    if (row_.schedule_type == "FIX_RATE") return fixed_rate();
    return wrong("its schedule type is '" + row_.schedule_type +
                 "', known are NONE, CRON and FIX_RATE");
  }

  Result<Schedule> cron() {
    entry_.schedule = row_.schedule_conf;
    const Cron cron = CARILLON_TRY(Cron::parse(row_.schedule_conf));
    const Status comes = cron.check_will_fire(options_.now, options_.zone, DstRule::kAuto);
    if (!comes.ok()) return comes.error().with_context("cron '" + row_.schedule_conf + "'");
    if (const auto next = next_there()) {
      const auto here = cron.next(*next - seconds{1}, options_.zone, DstRule::kAuto);
      if (here != *next) {
        note("xxl-job has fires planned that do not exist in zone " + options_.zone.name() +
             " (--tz must be the zone of the xxl-job admin; or its version misreads this cron)");
      }
    }
    return Schedule{
        .kind = ScheduleKind::kCron, .cron = row_.schedule_conf, .tz = options_.zone.name()};
  }

  Result<Schedule> fixed_rate() {
    const auto rate = number_of(row_.schedule_conf);
    if (!rate || *rate < 1 || *rate > INT32_MAX) {
      return wrong("its rate is '" + row_.schedule_conf + "', must be 1 to 2147483647 (seconds)");
    }
    const Duration interval = seconds{*rate};
    entry_.schedule = "every " + format_duration(interval);
    // On the grid that it has, where it has one; a stopped one gets one here.
    WallTime first = options_.now + interval;
    if (const auto next = next_there()) {
      first = *next;
      if (first <= options_.now) first += ((options_.now - first) / interval + 1) * interval;
    }
    return Schedule{.kind = ScheduleKind::kEvery, .interval = interval, .first = first};
  }

  // Its next fire in xxl-job, if it runs.
  std::optional<WallTime> next_there() {
    if (!row_.is_running || row_.next_ms <= 0) return std::nullopt;
    const WallTime next{milliseconds{std::min(row_.next_ms, kNextMsMax)}};
    if (next <= options_.now && !is_overdue_noted_) {
      is_overdue_noted_ = true;
      note("has overdue fires in xxl-job, which do not run here (jobclient trigger starts one)");
    }
    return next;
  }

  Result<Run> run() const {
    if (row_.glue_type == "BEAN") {
      const std::string handler{trimmed(row_.handler)};
      if (handler.empty()) return wrong("its type is BEAN, but it names no handler");
      return Run{.handler = handler};
    }
    const std::string_view language = language_of(row_.glue_type);
    if (language.empty()) return wrong("glue type " + row_.glue_type + " is unknown");
    if (language == "groovy" && !is_pushed()) {
      return wrong("glue type GLUE_GROOVY needs an executor in Java; no task tracker runs it");
    }
    Run run{.kind = RunKind::kScript, .script_language = std::string{language}};
    run.script_source = source_of(row_.glue_type, row_.glue_source);
    return run;
  }

  // xxl-job keeps it for each executor alone, this for all of the group together.
  Overlap overlap() {
    if (row_.block == "DISCARD_LATER") return Overlap::kSkip;
    if (row_.block == "COVER_EARLY") return Overlap::kCancelRunning;
    // Also what xxl-job makes of none.
    if (!row_.block.empty() && row_.block != "SERIAL_EXECUTION")
      note("block strategy '" + row_.block + "' is unknown: SERIAL_EXECUTION is used");
    return Overlap::kQueue;
  }

  MisfirePolicy misfire() {
    if (row_.misfire == "FIRE_ONCE_NOW") return MisfirePolicy::kFireOnce;
    if (!row_.misfire.empty() && row_.misfire != "DO_NOTHING")
      note("misfire strategy '" + row_.misfire + "' is unknown: DO_NOTHING is used");
    return MisfirePolicy::kSkip;
  }

  std::vector<Child> children() {
    std::vector<Child> children;
    std::set<std::int64_t> seen;
    for (const std::string& part : parts_of(row_.children)) {
      const auto id = number_of(part);
      const std::string* app_name = id ? names_.app_name_of_job(*id) : nullptr;
      if (app_name == nullptr) {
        note("child job " + part + " does not exist: left out");
      } else if (*id == row_.id) {
        note("names itself as child job: left out");
      } else if (seen.insert(*id).second) {
        children.push_back({.group = *app_name, .task_id = names_.task_id(*id)});
      }
    }
    return children;
  }

  std::vector<std::string> alarm() {
    std::vector<std::string> recipients;
    for (std::string& address : parts_of(row_.alarm_email)) {
      if (std::find(recipients.begin(), recipients.end(), address) != recipients.end()) continue;
      if (!check_alarm_recipient(address).ok()) {
        note("alarm e-mail '" + address + "' is not an address: left out");
      } else if (recipients.size() == kAlarmRecipientsMax) {
        note("alarm e-mail to " + address + " is left out: a job has at most " +
             std::to_string(kAlarmRecipientsMax));
      } else {
        recipients.push_back(std::move(address));
      }
    }
    return recipients;
  }

  static std::string source_of(const std::string& glue_type, std::string source) {
    // As xxl-job does it when a script is stored there.
    if (glue_type == "GLUE_SHELL") std::erase(source, '\r');
    return source;
  }

  // The versions before the one in use; that one's remark is the job's.
  void take_scripts(Run& used) {
    const auto found = database_.scripts.find(row_.id);
    if (found == database_.scripts.end()) return;
    std::int64_t version = 0;
    for (const XxlScript& one : found->second) {
      const std::string_view language = language_of(one.glue_type);
      const std::int64_t saved_s = std::clamp<std::int64_t>(one.saved_s, 0, kNextMsMax / 1000);
      version = std::max(version + 1, saved_s * 1000);
      if (language.empty() || one.source.empty()) continue;
      entry_.scripts.push_back({.language = std::string{language},
                                .source = source_of(one.glue_type, one.source),
                                .remark = is_printable_utf8(one.remark) ? one.remark : "",
                                .version = version});
    }
    if (entry_.scripts.empty()) return;
    const Script& newest = entry_.scripts.back();
    if (newest.source == used.script_source && newest.language == used.script_language) {
      used.script_remark = newest.remark;
      entry_.scripts.pop_back();
    }
  }

  bool is_pushed() const { return options_.dispatch == XxlDispatch::kPush; }

  Result<Push> push() const {
    Push push;
    bool is_known = row_.route.empty();
    for (const auto& [word, route] : wire::kRouteWords) {
      if (word != row_.route) continue;
      is_known = true;
      push.route = route;
    }
    if (!is_known) return wrong("route " + row_.route + " is unknown");
    for (const auto& [word, block] : wire::kBlockWords) {
      if (word == row_.block) push.block = block;
    }
    return push;
  }

  Status check_pull() {
    if (row_.route == "SHARDING_BROADCAST") {
      return wrong(
          "route SHARDING_BROADCAST: task trackers run no shards (--dispatch push has executors do "
          "it)");
    }
    // What the others are for, pulling does by itself.
    for (const char* chosen : {"FIRST", "LAST", "CONSISTENT_HASH"}) {
      if (row_.route != chosen) continue;
      note(std::string{"route "} + chosen + ": any task tracker of the group may run it");
    }
    if (row_.glue_type != "BEAN") {
      note("its script gets the parameter on stdin and no arguments");
    }
    return {};
  }

  const XxlJob& row_;
  const XxlDatabase& database_;
  const Names& names_;
  const XxlOptions& options_;
  XxlEntry entry_{};
  bool is_overdue_noted_ = false;
};

// Leaves out the children that a job tracker would refuse, so that the others' jobs are not refused
// with them: those that are not taken over, and those that lead back to who names them. Of a loop
// that is the link of the job with the highest number.
class ChildLinks {
 public:
  explicit ChildLinks(std::vector<XxlEntry>& entries) {
    for (XxlEntry& entry : entries) entries_.emplace(entry.task_id, &entry);
  }

  void keep_possible(XxlEntry& entry) {
    if (!entry.job.ok()) return;
    std::vector<std::string>& kept = kept_[entry.task_id];
    std::erase_if(entry.job.value().children, [&](const Child& child) {
      const XxlEntry& its = *entries_.at(child.task_id);
      const bool leads_back = leads_to(child.task_id, entry.task_id);
      if (its.job.ok() && !leads_back) {
        kept.push_back(child.task_id);
        return false;
      }
      entry.notes.push_back("child job " + std::to_string(its.row.id) +
                            (leads_back ? " triggers it in turn" : " cannot be imported") +
                            ": left out");
      return true;
    });
  }

 private:
  // By what is kept.
  bool leads_to(const std::string& from, const std::string& to) const {
    std::set<std::string> seen{from};
    std::vector<std::string> next{from};
    while (!next.empty()) {
      const std::string task = std::move(next.back());
      next.pop_back();
      if (task == to) return true;
      const auto found = kept_.find(task);
      if (found == kept_.end()) continue;
      for (const std::string& child : found->second) {
        if (seen.insert(child).second) next.push_back(child);
      }
    }
    return false;
  }

  std::map<std::string, XxlEntry*> entries_{};
  std::map<std::string, std::vector<std::string>> kept_{};  // children by their parent
};

std::string note_of(const XxlGroup& group, const XxlOptions& options) {
  if (options.dispatch == XxlDispatch::kPull) {
    return "task trackers of node group " + group.app_name + " run its jobs" +
           " (tasktracker --group " + group.app_name + ")";
  }
  if (!group.is_manual) return "its executors register here after their admin address is changed";
  std::string command = "jobclient groups add " + shell_word(group.app_name) + " --executor";
  for (const std::string& address : parts_of(group.addresses))
    command += " --address " + shell_word(address);
  return "its addresses were entered by hand; add them: " + command;
}

std::string note_of(const XxlUser& user, const Names& names) {
  std::string rights;
  for (const std::string& id : parts_of(user.groups)) {
    const std::string* app_name = names.app_name(number_of(id).value_or(0));
    rights += (rights.empty() ? "may use " : ", ") + (app_name != nullptr ? *app_name : id);
  }
  if (user.is_admin) rights = "administrator";
  if (rights.empty()) rights = "may use no group";
  return rights + "; Carillon has no users: tokens and keys grant access";
}

}  // namespace

std::vector<XxlEntry> read_xxl_jobs(const XxlDatabase& database, const XxlOptions& options) {
  const Names names(database, options);
  std::vector<XxlEntry> entries;
  for (const XxlJob& row : database.jobs) {
    entries.push_back(Maker(row, database, names, options).make());
  }
  // Of all of them, so that one import of each group comes to the same as one of all.
  ChildLinks links(entries);
  for (XxlEntry& entry : entries) links.keep_possible(entry);
  std::erase_if(entries, [&](const XxlEntry& entry) { return !is_wanted(options, entry.group); });
  return entries;
}

std::vector<XxlLeft> what_xxl_leaves(const XxlDatabase& database, const XxlOptions& options) {
  const Names names(database, options);
  std::vector<XxlLeft> left;
  for (const XxlGroup& group : database.groups) {
    if (!is_wanted(options, group.app_name)) continue;
    left.push_back({.kind = "group",
                    .name = group.app_name,
                    .title = group.title,
                    .note = note_of(group, options)});
  }
  if (!options.groups.empty()) return left;
  for (const XxlUser& user : database.users) {
    left.push_back({.kind = "user", .name = user.name, .note = note_of(user, names)});
  }
  return left;
}

}  // namespace carillon::cli
