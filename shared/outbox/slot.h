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

// The logger of all outboxes.
const Logger& logger();

// One file of an outbox: entries in id order, rejected entries, and their destination addresses.
//
// Invariant: a process with an open slot holds its lock, from before the file is opened until after
// it is closed. The lock file stays. The other file, readable only by its user, is deleted if it is
// empty when it is closed.
//
// A damaged file is renamed (NUMBER.db.damaged-TIME) and logged, and replaced by an empty one.
//
// Thread: one at a time.
class Slot {
 public:
  // Errors: kConflict if another process holds it. kInvalidArgument if a newer version of Carillon
  // created it.
  static Result<std::unique_ptr<Slot>> open(const std::string& folder, int number,
                                            const Clock& clock);
  ~Slot();
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  int number() const { return number_; }
  std::int64_t entries() const { return entries_; }
  std::int64_t bytes() const { return bytes_; }  // of their bodies
  // The highest id at opening: this process wrote the entries above it.
  std::int64_t adopted_through() const { return adopted_through_; }
  const std::vector<std::string>& addresses() const { return addresses_; }
  const SetAsideSize& set_aside_size() const { return set_aside_; }
  bool has_set_aside() const { return set_aside_.entries > 0; }
  // The latest time at which an entry was added before.
  WallTime newest() const { return newest_; }

  // The part of a Work for this slot: done completely in one transaction on disk, or not at all.
  // Operations that were done before are not repeated.
  struct Change {
    std::vector<const Entry*> add{};
    std::vector<std::int64_t> remove{};
    std::vector<const Numbering*> number{};
    std::vector<const Refusal*> set_aside{};
    const std::vector<std::string>* addresses = nullptr;  // of the added entries
    WallTime added_at{};          // of the added entries; later than newest()
    bool keeps_set_aside = true;  // until they are deleted; otherwise only the newest ones
    bool empty() const {
      return add.empty() && remove.empty() && number.empty() && set_aside.empty();
    }
  };
  Status apply(const Change& change);

  // When the oldest entry was added; none if there is none. `through`: only ids up to this.
  Result<std::optional<WallTime>> oldest(std::int64_t through);
  // The oldest entries that were added until `last`, at least one if there is one. Later entries
  // are included only if they belong to the same message as the first.
  Result<std::vector<Entry>> load(const Load& what, std::int64_t through, WallTime last);

  // A page of entries with higher ids, oldest first; empty: none.
  Result<std::vector<SetAside>> set_aside(std::int64_t after);
  // Deletes the entries from the first to the last of a page.
  Status forget_set_aside(const std::vector<SetAside>& page);

 private:
  Slot(FileLock lock, std::string path, int number, const Clock& clock);
  Status connect();
  Status try_connect();
  Status check_version();
  Status count();
  Status write(const Change& change);
  // After damage or a disk error: whether a retry makes sense.
  bool reopen_after(const Error& error);
  Status move_aside(const std::string& why);
  // Moves the file aside, because entries that were counted cannot be found.
  Error give_up_entries();

  const FileLock lock_;  // first, so that it is released last
  const std::string path_;
  const int number_;
  const Clock& clock_;
  std::unique_ptr<sql::Connection> db_;  // null: closed, after an error
  std::vector<std::string> addresses_;
  std::int64_t entries_ = 0;
  std::int64_t bytes_ = 0;
  std::int64_t adopted_through_ = 0;
  SetAsideSize set_aside_{};
  WallTime newest_{};
};

}  // namespace carillon::outbox
