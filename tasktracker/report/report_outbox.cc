#include "tasktracker/report/report_outbox.h"

#include <utility>

#include "shared/wire/codec.h"

namespace carillon::tasktracker {
namespace {

constexpr Duration kRetryAfter = std::chrono::seconds{2};
constexpr outbox::Load kPage{.entries_max = 1000, .bytes_max = 1024 * 1024, .own_too = false};
// Target size of one write.
constexpr std::size_t kWrittenBytesAim = 4 * 1024 * 1024;

}  // namespace

ReportOutbox::ReportOutbox(outbox::OutboxWriter* writer, std::int64_t last_id)
    : writer_(writer), last_id_(last_id) {
  if (writer_ != nullptr) want_left();
}

outbox::EntryId ReportOutbox::keep(SessionId session, const wire::RunResult& result) {
  return add(wire::Report{.session = session, .results = {result}});
}

outbox::EntryId ReportOutbox::keep(SessionId session, const wire::OutputChunk& chunk) {
  return add(wire::Output{.session = session, .chunks = {chunk}});
}

outbox::EntryId ReportOutbox::add(wire::Message message) {
  const outbox::EntryId id{outbox::kOwnSlot, ++last_id_};
  unwritten_.emplace(id.id, outbox::Entry{.id = id, .body = wire::encode({0, std::move(message)})});
  return id;
}

void ReportOutbox::forget(const outbox::EntryId& id) {
  if (id.slot != outbox::kOwnSlot) {
    if (left_open_ > 0) --left_open_;
    next_.remove.push_back(id);
  } else if (unwritten_.erase(id.id) == 0) {
    if (is_busy_) forgotten_.insert(id.id);
    next_.remove.push_back(id);
  }
}

std::vector<ReportOutbox::Left> ReportOutbox::take_left() { return std::exchange(page_, {}); }

void ReportOutbox::want_left() {
  if (is_loading_ || left_open_ > 0 || !more_left_) return;
  is_loading_ = true;
  next_.load = true;
  next_.what = kPage;
}

void ReportOutbox::look_again(bool any_group) {
  next_.adopt = true;
  next_.adopt_any_group = next_.adopt_any_group || any_group;
  more_left_ = true;
}

void ReportOutbox::turn(SteadyTime now) {
  if (writer_ == nullptr) return;
  while (std::optional<outbox::WorkDone> done = writer_->take()) {
    is_busy_ = false;
    on_done(std::move(*done), now);
  }
  if (is_busy_ || now < retry_at_) return;
  std::size_t bytes = 0;
  while (!unwritten_.empty() && bytes < kWrittenBytesAim) {
    outbox::Entry& entry = unwritten_.begin()->second;
    bytes += entry.body.size();
    next_.add.push_back(std::move(entry));
    unwritten_.erase(unwritten_.begin());
  }
  if (next_.empty()) return;
  is_busy_ = true;
  writer_->start(std::exchange(next_, {}));
}

void ReportOutbox::on_done(outbox::WorkDone&& done, SteadyTime now) {
  for (std::size_t i = done.added; i < done.work.add.size(); ++i) {
    outbox::Entry& entry = done.work.add[i];
    if (forgotten_.contains(entry.id.id)) continue;
    unwritten_.emplace(entry.id.id, std::move(entry));
  }
  forgotten_.clear();
  say_whether_failing(done);
  if (is_failing_) retry_at_ = now + kRetryAfter;
  if (!done.status.ok()) {
    next_.remove.insert(next_.remove.end(), done.work.remove.begin(), done.work.remove.end());
    next_.set_aside.insert(next_.set_aside.end(), done.work.set_aside.begin(),
                           done.work.set_aside.end());
    next_.load = next_.load || done.work.load;
    next_.what = kPage;
    return;
  }
  if (!done.work.load) return;
  is_loading_ = false;
  more_left_ = !done.loaded.empty() || next_.adopt;
  for (outbox::Entry& entry : done.loaded) read(std::move(entry));
  left_open_ += page_.size();
  if (page_.empty()) want_left();
}

void ReportOutbox::say_whether_failing(const outbox::WorkDone& done) {
  const bool was_failing = is_failing_;
  is_failing_ = !done.status.ok() || !done.room.ok();
  if (is_failing_ && !was_failing) {
    log_.error("cannot store unconfirmed results on disk; taking no new jobs until it is possible",
               "reason", (done.status.ok() ? done.room : done.status).error().message);
  } else if (was_failing && !is_failing_) {
    log_.info("unconfirmed results are stored on disk again");
  }
}

void ReportOutbox::read(outbox::Entry&& entry) {
  Result<wire::Envelope> envelope = wire::decode(entry.body);
  Left left{.id = entry.id};
  if (envelope.ok()) {
    wire::Message& message = envelope.value().message;
    if (auto* report = std::get_if<wire::Report>(&message); report && report->results.size() == 1) {
      left.session = report->session;
      left.result = std::move(report->results.front());
    }
    if (auto* output = std::get_if<wire::Output>(&message); output && output->chunks.size() == 1) {
      left.session = output->session;
      left.chunk = std::move(output->chunks.front());
    }
  }
  if (left.result || left.chunk) {
    page_.push_back(std::move(left));
    return;
  }
  const std::string reason = envelope.ok() ? "it is not a report" : envelope.error().message;
  log_.error("cannot read an entry that a worker left; it is set aside", "reason", reason);
  next_.set_aside.push_back({.id = entry.id, .reason = reason});
}

std::optional<SteadyTime> ReportOutbox::next_time() const {
  if (writer_ == nullptr || is_busy_ || (next_.empty() && unwritten_.empty())) return std::nullopt;
  return retry_at_;
}

}  // namespace carillon::tasktracker
