#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/file_lock.h"
#include "shared/base/log.h"
#include "shared/outbox/entry.h"
#include "shared/sql/sql_connection.h"

namespace carillon::outbox {

// Of all that an outbox says.
const Logger& logger();

// One file of an outbox: entries in order of their ids, those that were refused, and the addresses
// of those to whom they go.
//
// Invariant: whoever has it open holds its lock, from before the file is opened until after it is
// closed. The lock file stays; the other, which only its user may read, is removed when it was
// closed with nothing in it.
//
// A file that turns out to be damaged is moved aside (NUMBER.db.damaged-TIME) and said, and an
// empty one takes its place.
//
// Thread: one at a time.
class Slot {
 public:
  // kConflict: another process holds it. kInvalidArgument: a newer program made it.
  static Result<std::unique_ptr<Slot>> open(const std::string& folder, int number,
                                            const Clock& clock);
  ~Slot();
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  int number() const { return number_; }
  std::int64_t entries() const { return entries_; }
  std::int64_t bytes() const { return bytes_; }  // of their bodies
  // The highest id when it was opened: what is above was written by this process.
  std::int64_t adopted_through() const { return adopted_through_; }
  const std::vector<std::string>& addresses() const { return addresses_; }
  const SetAsideSize& set_aside_size() const { return set_aside_; }
  bool has_set_aside() const { return set_aside_.entries > 0; }
  // No entry of those that were here was added later.
  WallTime newest() const { return newest_; }

  // What of a Work is for this slot; all of it, in one transaction on disk, or nothing. Whatever
  // was done of it before is not done again.
  struct Change {
    std::vector<const Entry*> add{};
    std::vector<std::int64_t> remove{};
    std::vector<const Numbering*> number{};
    std::vector<const Refusal*> set_aside{};
    const std::vector<std::string>* addresses = nullptr;  // of what is added
    WallTime added_at{};                                  // likewise; later than newest()
    bool keeps_set_aside = true;  // until it is forgotten; else the newest of it
    bool empty() const {
      return add.empty() && remove.empty() && number.empty() && set_aside.empty();
    }
  };
  Status apply(const Change& change);

  // When the first one was added; nothing where there is none. `through`: none with a higher id.
  Result<std::optional<WallTime>> oldest(std::int64_t through);
  // The oldest; at least one if there is one that was added until `last`. What was added later is
  // there only where it is of one message with the first.
  Result<std::vector<Entry>> load(const Load& what, std::int64_t through, WallTime last);

  // A page of it with higher ids, oldest first; empty: there are none.
  Result<std::vector<SetAside>> set_aside(std::int64_t after);
  // Those from the first to the last of a page.
  Status forget_set_aside(const std::vector<SetAside>& page);

 private:
  Slot(FileLock lock, std::string path, int number, const Clock& clock);
  Status connect();
  Status try_connect();
  Status check_version();
  Status count();
  Status write(const Change& change);
  // After damage and after errors of the disk: whether it is worth another try.
  bool reopen_after(const Error& error);
  Status move_aside(const std::string& why);

  const FileLock lock_;  // first, so that it is let go last
  const std::string path_;
  const int number_;
  const Clock& clock_;
  std::unique_ptr<sql::Connection> db_;  // null: not open, after an error
  std::vector<std::string> addresses_;
  std::int64_t entries_ = 0;
  std::int64_t bytes_ = 0;
  std::int64_t adopted_through_ = 0;
  SetAsideSize set_aside_{};
  WallTime newest_{};
};

}  // namespace carillon::outbox
