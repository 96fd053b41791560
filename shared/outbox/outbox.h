#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "shared/base/clock.h"
#include "shared/outbox/entry.h"
#include "shared/outbox/slot.h"

// The undelivered messages of this process, on disk: a folder with numbered slots. A slot is a file
// that one process holds.
//
// A starting process adopts each free slot with entries for one of its addresses, whichever process
// wrote it: so nothing is left after a crash. Slots for other addresses stay, and are logged.
// `localhost` equals 127.0.0.1, case-insensitive. If processes belong to groups, a slot is left to
// a process of its own group, until slots of any group are requested. The process writes to the
// first slot for exactly its own addresses, or to a new one. Slots without entries are released.
//
// An entry that can never be delivered is set aside in its slot, and stays until it is deleted. It
// is never dropped for lack of space, but counts towards the limits.
//
// An added entry is on disk and survives a power failure. Entries are read in the order in which
// they were added, across slots; entries of a slot keep their order, and entries of one message
// stay together. The order across slots uses the machine's clock; a clock that moved back does not
// change the order of adopted slots.
//
// Beyond the limits, or on a full disk, adding fails with an error, and everything else continues.
namespace carillon::outbox {

struct OutboxConfig {
  std::string folder{};
  // Destinations of the messages, at least one. Processes with a common address share their
  // undelivered messages.
  std::vector<std::string> addresses{};
  // The group of this process; empty: no groups.
  std::string group{};
  // More: survives a longer outage of the receiver, and needs more disk space.
  std::int64_t entries_max = 100'000;
  std::int64_t bytes_max = std::int64_t{256} << 20;
  // Whether entries that were set aside are shown to a user. Otherwise only the newest 1000 of a
  // slot stay, and do not count towards the limits.
  bool shows_set_aside = false;
  bool logs_others = true;  // log entries for other addresses
};

// Most slots in a folder, and so most processes at a time.
inline constexpr int kSlotsMax = 1000;

// Passes the entries of `folder` that were set aside to `show`, slot by slot and page by page,
// oldest first, and deletes those for which it returns true. Slots of other processes, or of this
// process's Outbox, are skipped.
void visit_set_aside(const std::string& folder, const Clock& clock,
                     const std::function<bool(const std::vector<SetAside>&)>& show);

// A free slot with entries for other addresses than `ours`.
struct ForOthers {
  std::vector<std::string> addresses{};
  std::int64_t entries = 0;
};
std::vector<ForOthers> stored_for_others(const std::string& folder,
                                         const std::vector<std::string>& ours, const Clock& clock);

// Deletes entries for exactly these addresses, in any order, in free slots; passes each deleted
// entry to `removed`. Entries that were set aside stay.
Status discard(const std::string& folder, const std::vector<std::string>& addresses,
               const Clock& clock, const std::function<void(const Entry&)>& removed);

// Thread: one at a time.
class Outbox {
 public:
  // Creates nothing and never fails: a missing or unreadable folder has nothing to adopt, and the
  // error is reported when an entry is added.
  Outbox(OutboxConfig config, const Clock& clock);
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  WorkDone run(Work work);

  // Number of entries in all slots.
  std::int64_t entries() const;
  // The highest id of an entry; new entries need higher ids.
  std::int64_t last_id() const;

 private:
  void adopt(bool any_group);
  void adopt(int number, bool any_group);
  Result<Slot*> own();
  Status make_folder() const;
  bool is_for_us(const Slot& slot) const;
  bool is_of_another_group(const Slot& slot) const;
  void tell_of_others(const Slot& slot);
  WallTime next_added() const;
  Slot* find(const EntryId& id);
  std::size_t room_for(const std::vector<Entry>& entries, Status& status) const;
  SetAsideSize set_aside_size() const;
  Status change(Work& work, std::size_t add, Status& added);
  Result<std::vector<Entry>> load(const Load& what);
  std::int64_t loaded_through(const Slot& slot, const Load& what) const;
  void let_go_of_empty();

  const OutboxConfig config_;
  const std::vector<std::string> destinations_;  // the addresses and the group, as stored in slots
  const Clock& clock_;
  std::vector<std::unique_ptr<Slot>> slots_;  // by number
  Slot* own_ = nullptr;
  std::set<int> told_of_;  // logged slots for other addresses
};

}  // namespace carillon::outbox
