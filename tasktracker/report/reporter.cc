#include "tasktracker/report/reporter.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "shared/base/utf8.h"

namespace carillon::tasktracker {
std::string clean_text(std::string_view text, std::size_t bytes_max) {
  std::string clean;
  clean.reserve(std::min(text.size(), bytes_max));
  while (!text.empty()) {
    const std::size_t length = first_character(text).bytes;
    const auto first = static_cast<unsigned char>(text.front());
    const bool is_control = (first < 0x20 && first != '\t' && first != '\n') || first == 0x7F;
    if (clean.size() + std::max<std::size_t>(length, 1) > bytes_max) break;
    if (length == 0) {
      clean += '?';
    } else if (is_control) {
      clean += ' ';
    } else {
      clean += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return clean;
}

void Reporter::add(wire::RunResult&& result, SteadyTime now, SessionId origin,
                   outbox::EntryId kept) {
  const wire::AttemptId id = result.id;
  if (!result.message.empty()) result.message = clean_text(result.message, config_.text_max);
  const bool wrote = output_.has(id);
  Entry& entry = results_[id];
  leave_message(entry);
  entry = {.result = std::move(result),
           .origin = origin,
           .kept = kept,
           .send_latest = now + config_.output_wait};
  if (!kept) unkept_.push_back({.id = id, .at = now});
  (wrote ? for_output_ : to_send_).push_back(id);
}

void Reporter::on_reported(const wire::Reported& reported) {
  for (const wire::AttemptId& id : reported.done) {
    const auto found = results_.find(id);
    if (found == results_.end()) continue;
    leave_message(found->second);
    if (found->second.kept) settled_.push_back(found->second.kept);
    results_.erase(found);
  }
  while (!unkept_.empty() && !results_.contains(unkept_.front().id)) unkept_.pop_front();
  while (!sent_.empty() && !results_.contains(sent_.front().id)) sent_.pop_front();
}

void Reporter::leave_message(Entry& entry) {
  const auto found = messages_.find(std::exchange(entry.message, 0));
  if (found != messages_.end() && --found->second == 0) messages_.erase(found);
}

std::vector<wire::AttemptId> Reporter::on_rejected(std::int64_t message, const std::string& why) {
  std::vector<wire::AttemptId> of_message;
  for (const Sent& sent : sent_) {
    const auto found = results_.find(sent.id);
    if (found != results_.end() && found->second.message == message) of_message.push_back(sent.id);
  }
  std::vector<wire::AttemptId> given_up;
  for (const wire::AttemptId& id : of_message) {
    Entry& entry = results_.at(id);
    if (of_message.size() == 1 && entry.replaced) {
      given_up.push_back(id);
      continue;
    }
    if (of_message.size() == 1) replace(entry, why);
    entry.alone = true;
    leave_message(entry);
    to_send_.push_back(id);
  }
  std::erase_if(sent_, [&](const Sent& sent) {
    return std::find(of_message.begin(), of_message.end(), sent.id) != of_message.end();
  });
  on_reported({.done = given_up});
  return given_up;
}

// Without any data of the run.
void Reporter::replace(Entry& entry, const std::string& why) {
  wire::RunResult& result = entry.result;
  result = {.id = result.id,
            .outcome = wire::RunOutcome::kFailed,
            .message = clean_text("the job tracker rejected its result: " + why, config_.text_max),
            .started_at = result.started_at,
            .ended_at = result.ended_at,
            .bucket = result.bucket};
  entry.replaced = true;
}

void Reporter::forget_sent() {
  std::deque<wire::AttemptId> again;
  for (const Sent& sent : sent_) {
    const auto found = results_.find(sent.id);
    if (found == results_.end()) continue;
    leave_message(found->second);
    again.push_back(sent.id);
  }
  to_send_.insert(to_send_.begin(), again.begin(), again.end());
  sent_.clear();
}

void Reporter::resend_late(SteadyTime now) {
  while (!sent_.empty() && sent_.front().again_at <= now) {
    const auto found = results_.find(sent_.front().id);
    if (found != results_.end()) {
      leave_message(found->second);
      to_send_.push_back(found->first);
    }
    sent_.pop_front();
  }
}

std::optional<wire::Report> Reporter::next_message(SessionId session, SteadyTime now,
                                                   const Takes& takes) {
  resend_late(now);
  std::erase_if(for_output_, [&](const wire::AttemptId& id) {
    const auto found = results_.find(id);
    if (found == results_.end()) return true;
    if (output_.has(id) && now < found->second.send_latest) return false;
    to_send_.push_back(id);
    return true;
  });
  if (to_send_.empty() || messages_.size() >= config_.messages_max) return std::nullopt;
  wire::Report report{.session = session};
  const std::int64_t message = last_message_ + 1;
  std::size_t bytes = 0;
  std::deque<wire::AttemptId> others;
  while (!to_send_.empty() && report.results.size() < config_.results_max &&
         bytes < config_.message_bytes) {
    const wire::AttemptId id = to_send_.front();
    to_send_.pop_front();
    const auto found = results_.find(id);
    if (found == results_.end()) continue;  // It was confirmed before it was sent again.
    if (takes && !takes(found->second.result)) {
      others.push_back(id);
      continue;
    }
    if (report.results.empty()) report.origin = found->second.origin;
    const bool alone = found->second.alone && !report.results.empty();
    if (alone || found->second.origin != report.origin) {
      to_send_.push_front(id);  // It belongs to the next message, of that session.
      break;
    }
    report.results.push_back(found->second.result);
    bytes += found->second.result.message.size();
    leave_message(found->second);
    found->second.message = message;
    ++messages_[message];
    sent_.push_back({.id = id, .again_at = now + config_.resend_after});
    if (found->second.alone) break;
  }
  to_send_.insert(to_send_.begin(), others.begin(), others.end());
  if (report.results.empty()) return std::nullopt;
  last_message_ = message;
  return report;
}

std::optional<SteadyTime> Reporter::next_time() const {
  if (!to_send_.empty() && messages_.size() < config_.messages_max) return SteadyTime{};
  std::optional<SteadyTime> next;
  const auto consider = [&next](SteadyTime time) {
    if (!next || time < *next) next = time;
  };
  if (!sent_.empty()) consider(sent_.front().again_at);
  if (!for_output_.empty()) {
    const auto oldest = results_.find(for_output_.front());
    if (oldest != results_.end()) consider(oldest->second.send_latest);
  }
  return next;
}

}  // namespace carillon::tasktracker
