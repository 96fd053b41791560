#include "jobtracker/alarm/alarm_desk.h"

#include <algorithm>
#include <set>
#include <utility>

#include "jobtracker/store/names.h"
#include "shared/base/joined.h"
#include "shared/base/time_text.h"
#include "shared/base/utf8.h"

namespace carillon::jobtracker {
namespace {

// For a test message, which somebody waits for.
constexpr Duration kTestTime = std::chrono::seconds{10};

bool is_url(const std::string& recipient) { return recipient.find("://") != std::string::npos; }

const Error kNoMail{ErrorCode::kInvalidArgument,
                    "cannot send mail: no mail server is configured (name one with --smtp)"};

AlarmState state_of(const wire::AlarmMessage& content, bool is_delivered) {
  if (!is_delivered) return AlarmState::kFailed;
  if (content.conditions.empty()) return AlarmState::kDelivered;
  const bool is_over = std::all_of(content.conditions.begin(), content.conditions.end(),
                                   [](const auto& one) { return one.is_over; });
  return is_over ? AlarmState::kOver : AlarmState::kFiring;
}

std::string rule_of(const wire::AlarmMessage& content) {
  std::vector<std::string> conditions;
  for (const wire::AlarmCondition& one : content.conditions) conditions.push_back(one.condition);
  if (conditions.empty() && !content.jobs.empty()) return content.jobs.front().task_id;
  return joined(conditions, ", ");
}

net::Delivery delivery_of(const wire::AlarmMessage& content, const std::string& recipient) {
  net::Delivery delivery{.id = static_cast<std::uint64_t>(content.id), .to = recipient};
  if (is_url(recipient)) {
    delivery.body = wire::alarm_json(content);
  } else {
    delivery.subject = wire::alarm_subject(content);
    delivery.body = wire::alarm_text(content);
  }
  return delivery;
}

}  // namespace

std::string shown_recipient(const std::string& recipient) {
  if (!is_url(recipient)) return recipient;
  const std::size_t host = recipient.find("://") + 3;
  const std::string rest = recipient.substr(host, recipient.find_first_of("/?#", host) - host);
  return recipient.substr(0, host) + rest.substr(rest.rfind('@') + 1);
}

Status AlarmConfig::validate() const {
  for (const std::string& recipient : recipients) CARILLON_TRY(check_alarm_recipient(recipient));
  if (interval < gather) {
    return Error{ErrorCode::kInvalidArgument, "alarm-interval is " + format_duration(interval) +
                                                  ", must be at least " + format_duration(gather)};
  }
  if (!rules.empty() && recipients.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 "--alarm-when is given without a recipient (name one with --alarm)"};
  }
  std::set<std::pair<std::string, Condition>> seen;
  for (const AlarmRule& rule : rules) {
    if (seen.insert({lower_ascii(rule.group), rule.condition}).second) continue;
    return Error{ErrorCode::kInvalidArgument,
                 "--alarm-when has " + std::string{word_of(rule.condition)} +
                     (rule.group.empty() ? "" : " of group '" + rule.group + "'") +
                     " twice (give it once)"};
  }
  return {};
}

AlarmDesk::AlarmDesk(AlarmConfig config, Catalog& catalog, const Ownership& ownership,
                     const Workers& workers, const Executors& executors,
                     const ExecutorSilence& silence, Questions& questions, Batcher& batcher,
                     IdSource& ids, SchedulingClock& clock, const Logger& log)
    : config_(std::move(config)),
      catalog_(catalog),
      ownership_(ownership),
      batcher_(batcher),
      ids_(ids),
      clock_(clock),
      log_(log),
      watch_(
          config_.rules, catalog, ownership, workers, executors, silence, questions, clock,
          [this](GroupId group, const wire::AlarmCondition& condition) { tell(group, condition); }),
      silences_(questions, clock) {}

AlarmDesk::~AlarmDesk() { leave_courier(); }

void AlarmDesk::leave_courier() {
  if (courier_ != nullptr) std::exchange(courier_, nullptr)->set_receiver(nullptr);
}

// A silenced group without alarms has an entry without a rule.
std::vector<FiringAlarm> AlarmDesk::firing() const {
  std::vector<FiringAlarm> firing = watch_.firing();
  std::set<GroupId> groups;
  for (FiringAlarm& one : firing) {
    one.silenced_until = silences_.until(one.group);
    groups.insert(one.group);
  }
  for (const GroupId group : silences_.groups()) {
    if (!groups.contains(group))
      firing.push_back({.group = group, .silenced_until = silences_.until(group)});
  }
  return firing;
}

std::vector<AlarmRuleText> AlarmDesk::rules() const {
  std::vector<std::string> recipients;
  for (const std::string& one : config_.recipients) recipients.push_back(shown_recipient(one));
  std::vector<AlarmRuleText> rules;
  for (const AlarmRule& rule : config_.rules) {
    rules.push_back({.group = rule.group,
                     .rule = std::string{word_of(rule.condition)},
                     .limit = rule.is_off ? "off" : limit_of(rule),
                     .recipients = joined(recipients, " ")});
  }
  return rules;
}

void AlarmDesk::set_courier(net::Courier& courier) {
  courier_ = &courier;
  courier.set_receiver(
      [this](std::uint64_t id, const Status& status) { on_delivered(id, status); });
}

AlarmDesk::Memory AlarmDesk::take_memory() {
  Memory memory{.channels = std::exchange(channels_, {}), .watch = watch_.take_memory()};
  messages_ = 0;
  for (auto& [key, channel] : memory.channels) {
    channel.is_sending = false;
    std::erase_if(channel.messages, [](const Message& one) { return one.conditions.empty(); });
    for (Message& message : channel.messages) {
      message.unsettled = 0;
      message.is_closed = true;
    }
  }
  return memory;
}

void AlarmDesk::go_on_from(Memory memory) { before_ = std::move(memory); }

// Alarms of an earlier session may have been sent already: nothing is added to them. Lines of
// several partitions are one message: the owner of the first one's partition sends and removes them
// all. If another job tracker owns it, the remaining lines here are a separate message.
void AlarmDesk::start(const StartAnswer& found) {
  silences_.start(found.silences);
  watch_.go_on_from(std::move(before_.watch));
  channels_ = std::move(before_.channels);
  std::set<std::int64_t> had_lines;
  for (auto& [key, channel] : channels_) {
    messages_ += channel.messages.size();
    for (Message& message : channel.messages) {
      if (!std::exchange(message.lines, {}).empty()) had_lines.insert(message.id);
    }
  }
  std::int64_t alarm = 0;
  bool is_ours = false;
  for (const AlarmRow& row : found.alarms) {
    if (std::exchange(alarm, row.mark.alarm) != row.mark.alarm)
      is_ours = ownership_.has(row.entry.group);
    if (!is_ours) continue;
    Message& message =
        found_message(channels_[key_of(row.entry.group, row.mark.recipient)], row.mark.alarm);
    message.lines.push_back({.row = row});
    message.last = std::max(message.last, row.entry.ended_at);
  }
  for (auto& [key, channel] : channels_) {
    for (Message& message : channel.messages) {
      if (message.lines.empty() && had_lines.contains(message.id))
        message.id = ids_.next(clock_.now());
    }
  }
}

AlarmDesk::Message& AlarmDesk::found_message(Channel& channel, std::int64_t id) {
  const auto at = std::find_if(channel.messages.begin(), channel.messages.end(),
                               [id](const Message& one) { return one.id >= id; });
  if (at != channel.messages.end() && at->id == id) return *at;
  channel.not_before = std::max(channel.not_before, clock_.steady_now() + config_.gather);
  ++messages_;
  return *channel.messages.insert(at, Message{.id = id, .is_closed = true});
}

AlarmDesk::Key AlarmDesk::key_of(GroupId part, const std::string& recipient) const {
  const Group* group = catalog_.whole_of(part);
  return {group == nullptr ? part : group->id, recipient};
}

// ---- failures ----

std::vector<std::string> AlarmDesk::recipients_of(const WaitingJob& job) const {
  std::optional<JobSpec> own;
  const JobSpec* spec = catalog_.spec_of(job, own, "alarm");
  if (spec == nullptr || spec->alarm.empty()) return config_.recipients;
  if (spec->alarm.front() == kNoAlarm) return {};
  return spec->alarm;
}

bool AlarmDesk::can_tell(const JobSpec& job) const {
  if (courier_ != nullptr && courier_->takes_mail()) return true;
  return std::all_of(job.alarm.begin(), job.alarm.end(), [](const std::string& recipient) {
    return recipient == kNoAlarm || is_url(recipient);
  });
}

bool AlarmDesk::can_be_told(const std::string& recipient) {
  if (is_url(recipient) || courier_->takes_mail()) return true;
  ++dropped_;
  if (!std::exchange(said_no_mail_, true))
    log_.warn("cannot send alarms by mail: no mail server is configured (name one with --smtp)",
              "recipient", recipient);
  return false;
}

// Null: too many are undelivered.
AlarmDesk::Message* AlarmDesk::open_message(const Key& key, WallTime now) {
  const auto found = channels_.find(key);
  if (found != channels_.end() && !found->second.messages.empty() &&
      !found->second.messages.back().is_closed)
    return &found->second.messages.back();
  if (messages_ >= config_.messages_max) {
    ++dropped_;
    if (!std::exchange(was_full_, true))
      log_.error("too many alarms are undelivered; dropping new alarms", "waiting", messages_);
    return nullptr;
  }
  Channel& channel = channels_[key];
  if (channel.messages.empty())
    channel.not_before = std::max(channel.not_before, clock_.steady_now() + config_.gather);
  ++messages_;
  return &channel.messages.emplace_back(Message{.id = ids_.next(now)});
}

AlarmDesk::Line& AlarmDesk::line_for(Message& message, const LogEntry& entry) {
  auto& lines = message.lines;
  const std::size_t jobs = std::min(lines.size(), kAlarmLines);
  for (std::size_t i = 0; i < jobs; ++i) {
    if (lines[i].row.entry.task_id == entry.task_id) return lines[i];
  }
  if (lines.size() <= kAlarmLines)
    lines.push_back(
        {.row = {.mark = {.alarm = message.id, .line = static_cast<std::int32_t>(jobs)}}});
  return lines.back();
}

void AlarmDesk::address(LogEntry& entry, const WaitingJob& job) {
  if (courier_ == nullptr || silences_.until(key_of(entry.group, {}).first)) return;
  const std::vector<std::string> recipients = recipients_of(job);
  if (recipients.empty()) return;
  // A one-shot job no longer exists when the message is sent.
  std::optional<JobSpec> own;
  const JobSpec* spec = catalog_.spec_of(job, own);
  for (const std::string& recipient : recipients) {
    if (!can_be_told(recipient)) continue;
    Message* message = open_message(key_of(entry.group, recipient), entry.ended_at);
    if (message == nullptr) {
      entry.message = "alarm dropped, too many are undelivered" +
                      std::string{entry.message.empty() ? "" : "; "} + entry.message;
      continue;
    }
    message->last = entry.ended_at;
    Line& line = line_for(*message, entry);
    AlarmRow& row = line.row;
    row.mark.recipient = recipient;
    ++row.mark.failures;
    row.entry = entry;
    row.entry.alarms.clear();
    std::string storage;
    row.entry.message = std::string{storable_message(entry.message, storage)};
    if (spec != nullptr) {
      line.description = spec->description;
      line.owner = spec->owner;
    }
    entry.alarms.push_back(row.mark);
    ++message->unsettled;
  }
}

void AlarmDesk::settled(const LogEntry& entry) {
  for (const AlarmMark& mark : entry.alarms) {
    const auto found = channels_.find(key_of(entry.group, mark.recipient));
    if (found == channels_.end()) continue;
    for (Message& message : found->second.messages) {
      if (message.id == mark.alarm) --message.unsettled;
    }
  }
}

// ---- node groups ----

void AlarmDesk::tell(GroupId group, const wire::AlarmCondition& condition) {
  const auto same = [&](const wire::AlarmCondition& one) {
    return one.condition == condition.condition;
  };
  for (const std::string& recipient : config_.recipients) {
    if (!can_be_told(recipient)) continue;
    Message* message = open_message({group, recipient}, condition.at);
    if (message == nullptr) continue;
    message->last = condition.at;
    const auto before = std::find_if(message->conditions.begin(), message->conditions.end(), same);
    if (before == message->conditions.end()) {
      message->conditions.push_back(condition);
    } else if (before->is_over == condition.is_over) {
      *before = condition;
    } else {
      // A condition that ended before it was reported is not reported.
      message->conditions.erase(before);
    }
  }
}

// ---- messages ----

void AlarmDesk::run_once() {
  if (courier_ == nullptr) return;
  watch_.run_once();
  const SteadyTime now = clock_.steady_now();
  for (auto& [key, channel] : channels_) {
    if (channel.messages.empty() || channel.is_sending || now < channel.not_before) continue;
    if (silences_.until(key.first)) {
      // It is not given up because of the silence.
      for (Message& one : channel.messages) one.last = clock_.now();
      continue;
    }
    Message& first = channel.messages.front();
    if (first.lines.empty() && first.conditions.empty()) {
      remove_first(channel);
      continue;
    }
    first.is_closed = true;
    // Failures that may not be stored yet are not reported.
    if (first.unsettled == 0) send(key, channel);
  }
  std::erase_if(channels_, [&](const auto& one) {
    return one.second.messages.empty() && now >= one.second.not_before;
  });
}

wire::AlarmMessage AlarmDesk::content_of(const Message& message, GroupId group) {
  const Group* known = catalog_.whole_of(group);
  wire::AlarmMessage content{.id = message.id,
                             .group = known == nullptr ? "" : known->name,
                             .conditions = message.conditions};
  for (const auto& [row, description, owner] : message.lines) {
    if (static_cast<std::size_t>(row.mark.line) == kAlarmLines) {
      content.others = row.mark.failures;
      continue;
    }
    const LogEntry& entry = row.entry;
    wire::AlarmLine line{.task_id = entry.task_id,
                         .description = description,
                         .owner = owner,
                         .failures = row.mark.failures,
                         .job_id = entry.job_id,
                         .attempt = entry.attempt,
                         .state = to_string(entry.state),
                         .trigger_time = entry.trigger_time,
                         .started_at = entry.started_at,
                         .ended_at = entry.ended_at,
                         .node = entry.node,
                         .exit_code = entry.exit_code,
                         .message = entry.message};
    if (const ActiveDefinition* definition = catalog_.definition(entry.definition)) {
      line.description = definition->spec.description;
      line.owner = definition->spec.owner;
    }
    content.jobs.push_back(std::move(line));
  }
  return content;
}

void AlarmDesk::send(const Key& key, Channel& channel) {
  const wire::AlarmMessage content = content_of(channel.messages.front(), key.first);
  channel.is_sending = courier_->send(delivery_of(content, key.second));
}

void AlarmDesk::test(const Asker& asker, const std::string& recipient, OnTested done) {
  const auto is_again = std::any_of(tests_.begin(), tests_.end(),
                                    [&](const auto& one) { return one.second.asker == asker; });
  if (is_again) return;
  if (const Status valid = check_alarm_recipient(recipient); !valid.ok()) return done(valid);
  if (courier_ == nullptr)
    return done(Error{ErrorCode::kUnavailable, "no alarms are sent now, try again"});
  if (!is_url(recipient) && !courier_->takes_mail()) return done(kNoMail);
  const WallTime now = clock_.now();
  const wire::AlarmMessage content{
      .id = ids_.next(now),
      .group = "test",
      .conditions = {
          {.condition = "test", .since = now, .at = now, .text = "this is a test message"}}};
  net::Delivery delivery = delivery_of(content, recipient);
  delivery.timeout = kTestTime;
  if (!courier_->send(std::move(delivery)))
    return done(Error{ErrorCode::kLimit, "too many messages are being delivered, try again"});
  tests_[static_cast<std::uint64_t>(content.id)] = {asker, recipient, std::move(done)};
}

void AlarmDesk::on_delivered(std::uint64_t id, const Status& status) {
  if (const auto test = tests_.extract(id); !test.empty()) {
    const Test& one = test.mapped();
    if (status.ok()) return one.done(status);
    const bool is_denied = status.error().code == ErrorCode::kDenied;
    return one.done(Error{is_denied ? ErrorCode::kDenied : ErrorCode::kConflict,
                          "cannot deliver a message to " + shown_recipient(one.recipient) + ": " +
                              status.error().message});
  }
  const auto found = std::find_if(channels_.begin(), channels_.end(), [&](const auto& one) {
    return one.second.is_sending && one.second.messages.front().id == static_cast<std::int64_t>(id);
  });
  if (found == channels_.end()) return;
  Channel& channel = found->second;
  Message& message = channel.messages.front();
  const SteadyTime now = clock_.steady_now();
  channel.is_sending = false;
  if (status.ok() || !std::exchange(message.has_failed, true))
    record(found->first, message, status);
  if (status.ok()) {
    ++sent_;
    channel.wait = {};
    channel.not_before = now + config_.interval;
    return remove_first(channel);
  }
  ++failed_;
  if (clock_.now() - message.last > config_.give_up) {
    ++dropped_;
    log_.error("cannot deliver an alarm; giving up", "recipient",
               shown_recipient(found->first.second), "error", status.error().message);
    return remove_first(channel);
  }
  channel.wait = std::clamp(channel.wait * 2, config_.retry_least, config_.retry_most);
  channel.not_before = now + channel.wait;
  log_.warn("cannot deliver an alarm; retrying", "recipient", shown_recipient(found->first.second),
            "in", format_duration(channel.wait), "error", status.error().message);
}

// A delivery that is tried again replaces what is stored.
void AlarmDesk::record(const Key& key, const Message& message, const Status& status) {
  const wire::AlarmMessage content = content_of(message, key.first);
  std::string text = wire::alarm_subject(content);
  if (!status.ok()) text += " (not delivered: " + status.error().message + ")";
  std::string storage;
  batcher_.post(Urgency::kHousekeeping,
                PutAlarmHistory{{.id = message.id,
                                 .at = clock_.now(),
                                 .group = key.first,
                                 .rule = rule_of(content),
                                 .recipient = shown_recipient(key.second),
                                 .state = state_of(content, status.ok()),
                                 .message = std::string{storable_message(text, storage)}}},
                [](Operation&, const Outcome&, const Error*) {});
}

void AlarmDesk::remove_first(Channel& channel) {
  if (!channel.messages.front().lines.empty()) {
    batcher_.post(Urgency::kHousekeeping, RemoveAlarm{channel.messages.front().id},
                  [](Operation&, const Outcome&, const Error*) {});
  }
  channel.messages.pop_front();
  --messages_;
  was_full_ = false;
}

Sizes AlarmDesk::sizes() const {
  Sizes all{{"channels", channels_.size()}, {"tests", tests_.size()}};
  add_sizes(all, "silences", silences_.sizes());
  add_sizes(all, "watch", watch_.sizes());
  return all;
}

}  // namespace carillon::jobtracker
