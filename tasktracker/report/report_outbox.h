#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "carillon/time.h"
#include "shared/base/log.h"
#include "shared/base/sizes.h"
#include "shared/outbox/entry.h"
#include "shared/wire/messages.h"

namespace carillon::tasktracker {

// What a worker reports, on disk while the job tracker does not confirm it; and what workers before
// it have left there when they died.
//
// It is a copy: what is reported stays in memory until it is confirmed, and is then forgotten here
// too. So a worker that lives never waits for the disk, and one that is killed while the job
// tracker is away loses nothing that was on disk by then. An entry is one result or one chunk of
// output, with the session that ran it.
//
// What was left is for whoever looks after the node group of its session, whom only a worker of
// that group speaks with. So others leave it to one; what nobody has come for when it is too late
// for a result to count, anybody reports.
//
// What was left is read page by page, as fast as it is confirmed.
//
// Thread: the loop.
class ReportOutbox {
 public:
  // `lane`, or null where nothing is kept; `last_id` of the outbox behind it.
  ReportOutbox(outbox::Lane* lane, std::int64_t last_id);

  bool is_in_use() const { return lane_ != nullptr; }

  outbox::EntryId keep(SessionId session, const wire::RunResult& result);
  outbox::EntryId keep(SessionId session, const wire::OutputChunk& chunk);
  // It was confirmed.
  void forget(const outbox::EntryId& id);

  // What earlier sessions have left.
  struct Left {
    outbox::EntryId id{};
    SessionId session{};  // that ran it
    std::optional<wire::RunResult> result{};
    std::optional<wire::OutputChunk> chunk{};
  };
  // A page of it, if one was read since.
  std::vector<Left> take_left();
  // The next page, once all of the last one was forgotten.
  void want_left();
  // Others of its node group may have died meanwhile, and left something; or of any.
  void look_again(bool any_group = false);

  // Takes what was done and starts what is next. At the end of a turn.
  void turn(SteadyTime now);
  std::optional<SteadyTime> next_time() const;

  // All that was to be kept is on disk, or cannot be.
  bool is_settled() const { return is_failing_ || (unwritten_.empty() && !is_busy_); }
  // The disk takes nothing: what is not confirmed is in memory only.
  bool is_failing() const {
    return is_failing_ && (is_busy_ || !unwritten_.empty() || !next_.empty());
  }
  Sizes sizes() const {
    return {{"unwritten", unwritten_.size()},
            {"forgotten", forgotten_.size()},
            {"page", page_.size()},
            {"next", next_.add.size() + next_.remove.size()}};
  }

 private:
  outbox::EntryId add(wire::Message message);
  void on_done(outbox::WorkDone&& done, SteadyTime now);
  void say_whether_failing(const outbox::WorkDone& done);
  void read(outbox::Entry&& entry);

  outbox::Lane* const lane_;
  const Logger log_{"outbox"};
  std::int64_t last_id_;
  outbox::Work next_{};
  bool is_busy_ = false;
  std::map<std::int64_t, outbox::Entry> unwritten_;  // by id
  std::set<std::int64_t> forgotten_;                 // while they were being written
  std::vector<Left> page_;
  std::size_t left_open_ = 0;  // of the last page, not forgotten yet
  bool more_left_ = true;
  bool is_loading_ = false;
  bool is_failing_ = false;
  SteadyTime retry_at_{};
};

}  // namespace carillon::tasktracker
