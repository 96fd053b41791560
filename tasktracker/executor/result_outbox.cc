#include "tasktracker/executor/result_outbox.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "shared/wire/xxl/write.h"

namespace carillon::tasktracker {
namespace {

constexpr std::size_t kBatchMax = 50;  // like xxl-job's executor
constexpr std::size_t kUnwrittenMax = 10'000;
constexpr Duration kFirstPause = std::chrono::seconds{1};
constexpr Duration kLongestPause = std::chrono::seconds{30};

}  // namespace

ResultOutbox::ResultOutbox(std::unique_ptr<outbox::Outbox> outbox, AdminClient& admin,
                           const Clock& clock, std::function<void()> wake)
    : clock_(clock), wake_(std::move(wake)), admin_(admin), outbox_(std::move(outbox)) {
  last_id_ = outbox_->last_id();
}

void ResultOutbox::add(const wire::xxl::RunResult& result) {
  {
    const MutexLock lock(pending_mutex_);
    pending_.push_back({.id = {.id = ++last_id_}, .body = wire::xxl::write_result(result)});
  }
  write_pending();
  wake_();
}

// Results that arrive while another thread writes are written by the next writer.
void ResultOutbox::write_pending() {
  const MutexLock lock(outbox_mutex_);
  outbox::Work work;
  {
    const MutexLock gathering(pending_mutex_);
    work.add.swap(pending_);
  }
  if (work.add.empty()) return;
  outbox::WorkDone done = outbox_->run(std::move(work));
  if (done.added == done.work.add.size()) return;
  log_.error("cannot store results for the admin on disk; they are lost if this process dies",
             "results", done.work.add.size() - done.added, "reason",
             done.room.ok() ? "unknown" : done.room.error().message);
  for (std::size_t i = done.added; i < done.work.add.size(); ++i) {
    if (unwritten_.size() >= kUnwrittenMax) {
      log_.error("a result is lost: disk and memory are full", "result", done.work.add[i].body);
      continue;
    }
    unwritten_.push_back(std::move(done.work.add[i]));
  }
}

std::int64_t ResultOutbox::left() const {
  const MutexLock lock(outbox_mutex_);
  return outbox_->entries() + static_cast<std::int64_t>(unwritten_.size());
}

std::optional<SteadyTime> ResultOutbox::deliver(bool now) {
  if (!now && retry_at_ && clock_.steady_now() < *retry_at_) return retry_at_;
  while (true) {
    const std::vector<outbox::Entry> entries = load();
    if (entries.empty()) break;
    const Status sent = send(entries);
    if (sent.ok()) continue;
    if (pause_ == Duration{0}) {
      log_.warn("an admin does not accept results; keeping them", "reason", sent.error().message);
    }
    pause_ = pause_ == Duration{0} ? kFirstPause : std::min(pause_ * 2, kLongestPause);
    retry_at_ = clock_.steady_now() + pause_;
    return retry_at_;
  }
  if (pause_ > Duration{0}) log_.info("the admin accepts results again");
  pause_ = Duration{0};
  retry_at_.reset();
  return std::nullopt;
}

std::vector<outbox::Entry> ResultOutbox::load() {
  const MutexLock lock(outbox_mutex_);
  outbox::WorkDone done = outbox_->run({.load = true});
  if (!done.status.ok()) {
    log_.error("cannot read results for the admin", "reason", done.status.error().message);
  }
  if (done.loaded.empty()) return unwritten_;
  return std::move(done.loaded);
}

// Sends all; the error is for the remaining ones.
Status ResultOutbox::send(const std::vector<outbox::Entry>& entries) {
  Status refused;
  for (std::size_t begin = 0; begin < entries.size(); begin += kBatchMax) {
    const std::size_t count = std::min(kBatchMax, entries.size() - begin);
    bool any_taken = false;
    Status sent = send_batch(&entries[begin], count, any_taken);
    if (sent.ok()) continue;
    // For example, with a wrong token all are rejected.
    if (!any_taken || sent.error().code != ErrorCode::kDenied) return sent;
    refused = std::move(sent);
  }
  return refused;
}

// Together, or one by one if an admin rejects them together: one of them may be the cause.
Status ResultOutbox::send_batch(const outbox::Entry* first, std::size_t count, bool& any_taken) {
  Status sent = send_together(first, count);
  any_taken = sent.ok();
  if (sent.ok() || count == 1 || sent.error().code != ErrorCode::kDenied) return sent;
  Status refused;
  for (std::size_t i = 0; i < count; ++i) {
    Status alone = send_together(first + i, 1);
    any_taken = any_taken || alone.ok();
    if (alone.ok()) continue;
    if (alone.error().code != ErrorCode::kDenied) return alone;
    refused = std::move(alone);
  }
  return refused;
}

Status ResultOutbox::send_together(const outbox::Entry* first, std::size_t count) {
  std::vector<std::string_view> elements;
  for (std::size_t i = 0; i < count; ++i) elements.emplace_back(first[i].body);
  CARILLON_TRY(admin_.send_results(elements));
  take_out(first, count);
  return {};
}

void ResultOutbox::take_out(const outbox::Entry* first, std::size_t count) {
  outbox::Work work;
  for (std::size_t i = 0; i < count; ++i) work.remove.push_back(first[i].id);
  const MutexLock lock(outbox_mutex_);
  std::erase_if(unwritten_, [&](const outbox::Entry& entry) {
    return std::any_of(first, first + count,
                       [&](const outbox::Entry& sent) { return sent.id == entry.id; });
  });
  const outbox::WorkDone done = outbox_->run(std::move(work));
  if (!done.status.ok()) {
    // They will be sent again, which an admin ignores.
    log_.error("cannot delete sent results from disk", "reason", done.status.error().message);
  }
}

}  // namespace carillon::tasktracker
