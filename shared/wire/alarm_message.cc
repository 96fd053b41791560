#include "shared/wire/alarm_message.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "shared/base/time_text.h"

namespace carillon::wire {
namespace {

using Json = nlohmann::ordered_json;

std::string counted(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

void put_line(std::string& text, const std::string& name, const std::string& value) {
  if (value.empty()) return;
  text += "  " + name + std::string(10 - name.size(), ' ') + value + "\n";
}

std::string shown(WallTime time) { return time == WallTime{} ? std::string{} : format_time(time); }

Json json_of(const AlarmLine& line) {
  Json object{{"task_id", line.task_id}};
  if (!line.description.empty()) object["description"] = line.description;
  if (!line.owner.empty()) object["owner"] = line.owner;
  object["failures"] = line.failures;
  object["job_id"] = std::to_string(line.job_id.value);
  object["attempt"] = line.attempt;
  object["state"] = line.state;
  object["trigger_time"] = format_time(line.trigger_time);
  if (line.started_at != WallTime{}) object["started_at"] = format_time(line.started_at);
  object["ended_at"] = format_time(line.ended_at);
  object["node"] = line.node;
  if (line.exit_code) object["exit_code"] = *line.exit_code;
  object["message"] = line.message;
  return object;
}

Json json_of(const AlarmCondition& condition) {
  return {{"condition", condition.condition},
          {"is_over", condition.is_over},
          {"since", format_time(condition.since)},
          {"at", format_time(condition.at)},
          {"text", condition.text}};
}

}  // namespace

std::int64_t failures_of(const AlarmMessage& message) {
  std::int64_t all = message.others;
  for (const AlarmLine& line : message.jobs) all += line.failures;
  return all;
}

std::string alarm_subject(const AlarmMessage& message) {
  std::string subject = "[carillon] " + message.group + ":";
  const char* before = " ";
  for (const AlarmCondition& condition : message.conditions) {
    subject += std::exchange(before, "; ") + condition.text;
  }
  if (failures_of(message) == 0) return subject;
  subject += before + counted(failures_of(message), "failure");
  if (message.jobs.empty()) return subject;
  subject += " of " + message.jobs.front().task_id;
  const auto more = static_cast<std::int64_t>(message.jobs.size()) - 1;
  // The number of jobs of the other failures is unknown; at least one.
  if (message.others > 0) return subject + " and at least " + counted(more + 1, "other job");
  return more == 0 ? subject : subject + " and " + counted(more, "other job");
}

std::string alarm_text(const AlarmMessage& message) {
  std::string text;
  for (const AlarmCondition& condition : message.conditions) {
    text += "Node group " + message.group + ", " + condition.text + "\n";
    put_line(text, condition.is_over ? "over" : "since", shown(condition.at));
  }
  if (failures_of(message) == 0) return text;
  if (!text.empty()) text += "\n";
  text += counted(failures_of(message), "failure") + " in node group " + message.group +
          " that will not be retried. The list shows the last one of each job.\n";
  for (const AlarmLine& line : message.jobs) {
    text += "\n" + line.task_id;
    if (!line.description.empty()) text += " (" + line.description + ")";
    if (!line.owner.empty()) text += ", owner " + line.owner;
    text += ": " + line.state;
    if (line.failures > 1) text += ", " + std::to_string(line.failures) + " times";
    text += "\n";
    put_line(text, "job",
             std::to_string(line.job_id.value) + ", attempt " + std::to_string(line.attempt));
    put_line(text, "node", line.node);
    put_line(text, "due", shown(line.trigger_time));
    put_line(text, "started", shown(line.started_at));
    put_line(text, "ended", shown(line.ended_at));
    if (line.exit_code) put_line(text, "exit", std::to_string(*line.exit_code));
    put_line(text, "message", line.message);
  }
  if (message.others > 0)
    text += "\nAnd " + counted(message.others, "failure") + " of other jobs.\n";
  return text;
}

std::string alarm_json(const AlarmMessage& message) {
  Json object{{"alarm_id", std::to_string(message.id)},
              {"group", message.group},
              {"failures", failures_of(message)},
              {"text", alarm_subject(message)}};
  object["jobs"] = Json::array();
  for (const AlarmLine& line : message.jobs) object["jobs"].push_back(json_of(line));
  object["others"] = message.others;
  object["conditions"] = Json::array();
  for (const AlarmCondition& one : message.conditions) object["conditions"].push_back(json_of(one));
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace carillon::wire
