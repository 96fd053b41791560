#include "jobclient/cli/crontab.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "jobclient/cli/shell_words.h"
#include "shared/base/utf8.h"
#include "shared/job/cron.h"
#include "shared/job/zone.h"

namespace carillon::cli {
namespace {

constexpr std::string_view kBlanks = " \t";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::size_t kFields = 5;
constexpr std::size_t kSlugBytesMax = 40;

using Variables = std::map<std::string, std::string>;

std::string_view without_leading_blanks(std::string_view text) {
  const std::size_t start = text.find_first_not_of(kBlanks);
  return start == std::string_view::npos ? std::string_view{} : text.substr(start);
}

std::string_view trimmed(std::string_view text) {
  text = without_leading_blanks(text);
  const std::size_t end = text.find_last_not_of(kBlanks);
  return end == std::string_view::npos ? std::string_view{} : text.substr(0, end + 1);
}

// The first word, which is taken off together with the blanks after it.
std::string_view take_word(std::string_view& text) {
  text = without_leading_blanks(text);
  const std::size_t end = std::min(text.find_first_of(kBlanks), text.size());
  const std::string_view word = text.substr(0, end);
  text = without_leading_blanks(text.substr(end));
  return word;
}

std::string_view unquoted(std::string_view text) {
  if (text.size() < 2 || (text.front() != '"' && text.front() != '\'')) return text;
  return text.back() == text.front() ? text.substr(1, text.size() - 2) : text;
}

bool is_name(std::string_view text) {
  if (text.empty() || (text.front() >= '0' && text.front() <= '9')) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// NAME=VALUE, blanks around the sign, either side quoted or not.
std::optional<std::pair<std::string, std::string>> as_variable(std::string_view line) {
  const std::size_t sign = line.find('=');
  if (sign == std::string_view::npos) return std::nullopt;
  const std::string_view name = unquoted(trimmed(line.substr(0, sign)));
  if (!is_name(name)) return std::nullopt;
  return std::pair{std::string{name}, std::string{unquoted(trimmed(line.substr(sign + 1)))}};
}

struct Command {
  std::string line{};
  std::optional<std::string> input{};
};

// The first `%` ends the command, what follows is its stdin, where `%` is a line feed; `\%` is a
// plain `%` in both.
Command split_command(std::string_view text) {
  Command command;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string& to = command.input ? *command.input : command.line;
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == '%') {
      to += '%';
      ++i;
    } else if (text[i] != '%') {
      to += text[i];
    } else if (command.input) {
      to += '\n';
    } else {
      command.input.emplace();
    }
  }
  if (command.input) *command.input += '\n';
  return command;
}

// 64 bits that depend on every byte (FNV-1a), the same on every machine: ids are made of it.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return hash;
}

// "backup-sh" of "/usr/local/bin/backup.sh --full", to be recognised by.
std::string slug_of(std::string_view command) {
  std::string_view word = take_word(command);
  while (word.find('=') != std::string_view::npos && !command.empty()) word = take_word(command);
  word = word.substr(std::min(word.find_last_of('/') + 1, word.size()));
  std::string slug;
  for (const char c : word) {
    const bool is_plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (is_plain) {
      slug += c;
    } else if (!slug.empty() && slug.back() != '-') {
      slug += '-';
    }
    if (slug.size() >= kSlugBytesMax) break;
  }
  while (!slug.empty() && slug.back() == '-') slug.pop_back();
  return slug.empty() ? "job" : slug;
}

std::string hex6(std::uint64_t number) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (int i = 0; i < 6; ++i) {
    text += kDigits[number & 15];
    number >>= 4;
  }
  return text;
}

class Reader {
 public:
  Reader(const CrontabOptions& options, bool is_system)
      : options_(options), is_system_(is_system) {}

  std::vector<CrontabEntry> read(std::string_view text);

 private:
  void take_line(std::int64_t number, std::string_view line);
  Result<JobSpec> job_of(CrontabEntry& entry);
  Result<Schedule> schedule_of(const CrontabEntry& entry) const;
  Run run_of(const std::string& line) const;
  std::string new_id(const CrontabEntry& entry);
  std::string note_of(const CrontabEntry& entry) const;

  const CrontabOptions& options_;
  const bool is_system_;
  Variables variables_;
  std::set<std::string> ids_;
  std::vector<CrontabEntry> entries_;
};

std::vector<CrontabEntry> Reader::read(std::string_view text) {
  std::int64_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    take_line(++number, without_leading_blanks(line));
  }
  return std::move(entries_);
}

void Reader::take_line(std::int64_t number, std::string_view line) {
  if (line.empty() || line.front() == '#') return;
  if (auto variable = as_variable(line)) {
    variables_[variable->first] = std::move(variable->second);
    return;
  }
  CrontabEntry entry{.line = number};
  const std::size_t words = line.front() == '@' ? 1 : kFields;
  for (std::size_t i = 0; i < words; ++i) {
    const std::string_view word = take_word(line);
    if (!word.empty()) entry.schedule += (i == 0 ? "" : " ") + std::string{word};
  }
  if (is_system_) entry.user = std::string{take_word(line)};
  entry.command = std::string{line};
  entry.job = job_of(entry);
  if (entry.job.ok()) entry.note = note_of(entry);
  entries_.push_back(std::move(entry));
}

Result<Schedule> Reader::schedule_of(const CrontabEntry& entry) const {
  Schedule schedule{.kind = ScheduleKind::kCron, .cron = entry.schedule, .tz = options_.tz};
  const auto zone = variables_.find("CRON_TZ");
  if (zone != variables_.end() && !zone->second.empty()) schedule.tz = zone->second;
  CARILLON_TRY(Cron::parse(schedule.cron));
  if (!schedule.tz.empty()) CARILLON_TRY(Zone::load(schedule.tz));
  return schedule;
}

// The command as cron's shell would run it: with the environment lines, in the home folder.
Run Reader::run_of(const std::string& line) const {
  std::string shell = "/bin/sh";
  std::string text;
  for (const auto& [name, value] : variables_) {
    if (name == "SHELL") {
      shell = value;
      continue;
    }
    if (name == "CRON_TZ" || name == "LOGNAME" || name.starts_with("MAIL")) continue;
    text += "export " + name + "=" + shell_quoted(value) + "\n";
  }
  text += "cd \"${HOME:-/}\" || exit\n" + line;
  if (shell == "/bin/sh") return {.kind = RunKind::kShell, .shell = text};
  return {.kind = RunKind::kCommand, .command = {shell, "-c", text}};
}

Result<JobSpec> Reader::job_of(CrontabEntry& entry) {
  if (entry.schedule == "@reboot") {
    return Error{ErrorCode::kInvalidArgument,
                 "jobs cannot start with the machine (use a systemd unit)"};
  }
  if (entry.command.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 is_system_ ? "no command: five fields or a macro, a user and a command are needed"
                            : "no command: five fields or a macro and a command are needed"};
  }
  if (is_system_ &&
      std::find(options_.users.begin(), options_.users.end(), entry.user) == options_.users.end()) {
    return Error{ErrorCode::kInvalidArgument,
                 "runs as " + entry.user +
                     ", but a task tracker runs all jobs as its own user (import it with --user " +
                     entry.user + " into a group whose task trackers run as that user)"};
  }
  if (!is_utf8(entry.command) || entry.command.find('\0') != std::string::npos) {
    return Error{ErrorCode::kInvalidArgument,
                 "its command is not valid UTF-8 text without zero bytes"};
  }
  const Command command = split_command(entry.command);
  // Not within the braces: g++ 12 leaks the members before it when it returns early.
  Schedule schedule = CARILLON_TRY(schedule_of(entry));
  JobSpec job{.group = options_.group,
              .description = std::string{first_bytes(
                  "crontab: " + entry.schedule + " " + entry.command, kTextBytesMax)},
              .owner = entry.user,
              .schedule = std::move(schedule),
              .payload = command.input.value_or(""),
              .run = run_of(command.line),
              .overlap = options_.overlap,
              .misfire = {.policy = options_.misfire},
              .replace_on_exist = options_.replace};
  job.task_id = new_id(entry);
  CARILLON_TRY(job.validate());
  return job;
}

// The same for the same command and user in every import; a command that stands there several
// times is counted through.
std::string Reader::new_id(const CrontabEntry& entry) {
  const std::string base = options_.id_prefix + slug_of(entry.command) + "-" +
                           hex6(hash_of(entry.user + '\n' + entry.command));
  std::string id = base;
  for (int count = 2; !ids_.insert(id).second; ++count) id = base + "-" + std::to_string(count);
  return id;
}

std::string Reader::note_of(const CrontabEntry& entry) const {
  std::string note;
  const auto add = [&note](const std::string& more) { note += (note.empty() ? "" : "; ") + more; };
  const auto mail = variables_.find("MAILTO");
  if (mail != variables_.end() && !mail->second.empty()) {
    add("its output is kept, not mailed (see jobclient logs)");
  }
  if (variables_.contains("TZ") && !variables_.contains("CRON_TZ")) {
    add("TZ applies to the command, as in cron (CRON_TZ applies to the schedule)");
  }
  if (variables_.contains("RANDOM_DELAY")) add("RANDOM_DELAY does not apply");
  if (!entry.job.value().payload.empty()) add("the text after % is its stdin");
  const std::string line = split_command(entry.command).line;
  if (trimmed(line).ends_with('&')) {
    add("background processes continue after the run, but their output is not kept "
        "(redirect it: COMMAND > FILE 2>&1 &)");
  }
  return note;
}

}  // namespace

CrontabOptions::Form detect_form(std::string_view text, const CrontabOptions& options) {
  using Form = CrontabOptions::Form;
  if (options.path == "/etc/crontab" || options.path.starts_with("/etc/cron.d/")) {
    return Form::kSystem;
  }
  const std::vector<CrontabEntry> entries = Reader(options, true).read(text);
  const bool is_roots = std::any_of(entries.begin(), entries.end(), [](const CrontabEntry& entry) {
    return entry.user == "root" && !entry.command.empty();
  });
  return is_roots ? Form::kSystem : Form::kUser;
}

std::vector<CrontabEntry> read_crontab(std::string_view text, const CrontabOptions& options) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  using Form = CrontabOptions::Form;
  const Form form = options.form == Form::kDetect ? detect_form(text, options) : options.form;
  return Reader(options, form == Form::kSystem).read(text);
}

}  // namespace carillon::cli
