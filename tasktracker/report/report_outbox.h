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

// Unconfirmed reports of a worker on disk, and those that earlier workers left when they died.
//
// It is a copy: reports stay in memory until they are confirmed, and are then deleted here too. So
// a worker never waits for the disk, and a worker that is killed while the job tracker is away
// loses nothing that was on disk. An entry is one result or one chunk of output, with the session
// that ran it.
//
// Reports of a dead worker belong to the owner of its node group, which only workers of that group
// know. So workers of other groups leave them to one of it. When it is too late for a result to
// count, any worker reports them.
//
// Reports of dead workers are read page by page, as fast as they are confirmed.
//
// Thread: the loop.
class ReportOutbox {
 public:
  // `writer`: null if nothing is stored. `last_id`: of its outbox.
  ReportOutbox(outbox::OutboxWriter* writer, std::int64_t last_id);

  bool is_in_use() const { return writer_ != nullptr; }

  outbox::EntryId keep(SessionId session, const wire::RunResult& result);
  outbox::EntryId keep(SessionId session, const wire::OutputChunk& chunk);
  // It was confirmed.
  void forget(const outbox::EntryId& id);

  // A report of an earlier session.
  struct Left {
    outbox::EntryId id{};
    SessionId session{};  // that ran it
    std::optional<wire::RunResult> result{};
    std::optional<wire::OutputChunk> chunk{};
  };
  // The page that was read since the last call.
  std::vector<Left> take_left();
  // Reads the next page when all of the last one was confirmed.
  void want_left();
  // Searches again for workers of its node group that have died and left reports; or of any group.
  void look_again(bool any_group = false);

  // Processes finished work and starts the next. Call at the end of a turn.
  void turn(SteadyTime now);
  std::optional<SteadyTime> next_time() const;

  // Everything is on disk, or the disk fails.
  bool is_settled() const { return is_failing_ || (unwritten_.empty() && !is_busy_); }
  // The disk fails: unconfirmed reports are only in memory.
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

  outbox::OutboxWriter* const writer_;
  const Logger log_{"outbox"};
  std::int64_t last_id_;
  outbox::Work next_{};
  bool is_busy_ = false;
  std::map<std::int64_t, outbox::Entry> unwritten_;  // by id
  std::set<std::int64_t> forgotten_;                 // while they were being written
  std::vector<Left> page_;
  std::size_t left_open_ = 0;  // unconfirmed entries of the last page
  bool more_left_ = true;
  bool is_loading_ = false;
  bool is_failing_ = false;
  SteadyTime retry_at_{};
};

}  // namespace carillon::tasktracker
