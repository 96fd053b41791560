#include "tests/sim/story.h"

#include <optional>

#include "shared/base/time_text.h"

namespace carillon::sim {

using jobtracker::Definition;
using jobtracker::LogEntry;
using jobtracker::WaitingJob;

namespace {

std::string text(const WaitingJob& row) {
  std::string line = "job " + std::to_string(row.id.value) + " attempt " +
                     std::to_string(row.attempt) + " for " + format_time(row.trigger_time);
  if (row.definition) line += " of version " + std::to_string(row.version);
  if (row.not_before) line += " not before " + format_time(*row.not_before);
  if (row.triggered) line += row.makes_up ? " making up" : " triggered";
  if (row.delayed) line += " delayed";
  if (row.suspended) line += " suspended";
  return line;
}

std::string text(const std::optional<LogEntry>& log) {
  if (!log) return "";
  return std::string("; ") + to_string(log->state) + " x" + std::to_string(log->count) + " from " +
         format_time(log->trigger_time) + (log->message.empty() ? "" : " (" + log->message + ")");
}

std::string text(const Definition& row) {
  return "version " + std::to_string(row.version) + " state " +
         std::to_string(static_cast<int>(row.state)) + " next " + format_time(row.next_fire) +
         " through " + format_time(row.generated_through) + " fired " + std::to_string(row.fired);
}

class Teller {
 public:
  Teller(const std::string& name, const Ledger& ledger) : name_(name), ledger_(ledger) {}

  // Empty: of another task.
  std::string line(const jobtracker::ChangeWaiting& one) const {
    if (!is_it(one.from.task_id, one.from.id)) return {};
    return text(one.from) + (one.to ? " becomes " + text(*one.to) : " goes") + text(one.log);
  }
  std::string line(const jobtracker::End& one) const {
    if (!is_it(one.task_id, one.id)) return {};
    return "end of job " + std::to_string(one.id.value) + " attempt " +
           std::to_string(one.attempt) + (one.again ? ", again " + text(*one.again) : "") +
           text(one.log);
  }
  std::string line(const jobtracker::ChangeDefinition& one) const {
    const auto found = ledger_.definitions().find(one.id);
    if (found == ledger_.definitions().end() || found->second.row.task_id != name_) return {};
    std::string line = one.to ? "definition becomes " + text(*one.to) : "definition goes";
    if (one.void_waiting) line += ", what waits is void";
    for (const WaitingJob& row : one.add) line += "; adds " + text(row);
    for (const LogEntry& log : one.logs) line += text(log);
    return line;
  }
  std::string line(const jobtracker::Claim& one) const {
    if (!is_it(one.to.job.task_id, one.to.job.id)) return {};
    return "claim of " + text(one.to.job) + " for " + one.to.node;
  }
  std::string line(const jobtracker::AddDefinition& one) const {
    if (one.definition.task_id != name_) return {};
    return "new definition, " + text(one.definition) +
           (one.first ? ", first " + text(*one.first) : "");
  }
  std::string line(const jobtracker::AddJob& one) const {
    return is_it(one.job.task_id, one.job.id) ? "new " + text(one.job) : "";
  }
  std::string line(const jobtracker::AddExecuting& one) const {
    if (!is_it(one.to.job.task_id, one.to.job.id)) return {};
    return "new " + text(one.to.job) + ", claimed for " + one.to.node;
  }
  std::string line(const jobtracker::CancelExecuting& one) const {
    const Ledger::Job* job = ledger_.find(one.id);
    if (job == nullptr || !is_it(job->row.task_id, one.id)) return {};
    return "cancel of job " + std::to_string(one.id.value) + " attempt " +
           std::to_string(one.attempt);
  }
  template <class Other>
  std::string line(const Other&) const {
    return {};
  }

 private:
  bool is_it(const std::string& task_id, JobId id) const {
    return task_id == name_ || std::to_string(id.value) == name_;
  }

  const std::string& name_;
  const Ledger& ledger_;
};

}  // namespace

void tell_story(const std::string& name, const Commit& commit, const Ledger& ledger,
                const std::function<void(const std::string&)>& tell) {
  const Teller teller(name, ledger);
  for (std::size_t i = 0; i < commit.batch.operations.size(); ++i) {
    const std::string line =
        std::visit([&](const auto& one) { return teller.line(one); }, commit.batch.operations[i]);
    if (line.empty()) continue;
    const bool is_done = commit.done.outcomes[i].kind == jobtracker::OutcomeKind::kDone;
    tell(line + (is_done ? "" : " [was not done]"));
  }
}

}  // namespace carillon::sim
