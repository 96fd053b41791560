#include "tests/sim/disk.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "shared/base/assert.h"

namespace carillon::sim {

using std::chrono::microseconds;

void Disk::begin_life() { adopted_through_ = last_id_; }

void Disk::end_life() {
  if (work_ && chance_.one_in(2)) run(std::move(*work_));
  work_.reset();
  done_.reset();
}

void Disk::start(outbox::Work work) {
  CARILLON_ASSERT(!work_ && !done_, "the work before was taken");
  work_ = std::move(work);
  const SteadyTime begin = std::max(process_.steady_now(), stands_until_);
  process_.post_at(begin + chance_.between(microseconds{100}, microseconds{5000}),
                   [this] { done_ = run(std::move(*std::exchange(work_, std::nullopt))); });
}

std::optional<outbox::WorkDone> Disk::take() { return std::exchange(done_, std::nullopt); }

void Disk::mend() {
  stands_until_ = {};
  fails_ = 0;
}

outbox::WorkDone Disk::run(outbox::Work work) {
  outbox::WorkDone done;
  if (fails_ > 0) {
    --fails_;
    on_failed();
    done.status = Error{ErrorCode::kUnavailable, "the disk has failed"};
    done.room = done.status;
  } else {
    for (const outbox::Entry& entry : work.add) {
      last_id_ = std::max(last_id_, entry.id.id);
      Kept& kept = kept_[entry.id.id];
      kept = {.entry = entry, .since = process_.steady_now()};
      kept.entry.id.slot = 0;
    }
    done.added = work.add.size();
    for (const outbox::Numbering& number : work.number) {
      const auto found = kept_.find(number.id.id);
      if (found == kept_.end()) continue;
      found->second.entry.client = number.client;
      found->second.entry.sequence = number.sequence;
      found->second.entry.sent_at = number.sent_at;
    }
    for (const outbox::EntryId& id : work.remove) {
      const auto gone = kept_.extract(id.id);
      if (!gone.empty()) on_removed(gone.mapped().entry);
    }
    for (const outbox::Refusal& refusal : work.set_aside) {
      const auto gone = kept_.extract(refusal.id.id);
      if (!gone.empty()) on_set_aside(gone.mapped().entry, refusal.reason);
    }
    if (work.load) done.loaded = load(work.what);
  }
  done.left = static_cast<std::int64_t>(kept_.size());
  done.work = std::move(work);
  return done;
}

std::vector<outbox::Entry> Disk::load(const outbox::Load& what) const {
  std::vector<outbox::Entry> loaded;
  for (const auto& [id, kept] : kept_) {
    if (loaded.size() >= what.entries_max || (!what.own_too && id > adopted_through_)) break;
    loaded.push_back(kept.entry);
  }
  return loaded;
}

}  // namespace carillon::sim
