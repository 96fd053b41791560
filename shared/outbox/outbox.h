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

// What this process still has to deliver, on disk: a folder with numbered slots, each a file that
// one process holds.
//
// A process that starts adopts every slot that nobody holds, whoever wrote it and under whatever
// name, if what lies in it is for one of the same addresses: so nothing is left behind by a crash.
// What lies there for others stays, and is said in the log. `localhost` is 127.0.0.1, in any case.
// Where processes belong to groups, what lies there is left to one of its own group, until somebody
// asks for those of any group.
// It writes into the first of those that is for just its own addresses, or into a slot of its own,
// made when it is needed. Slots that were delivered are let go.
//
// What can never be delivered is set aside in its slot, and stays until it is forgotten. Nothing
// of it is dropped for want of room, but it takes of the room for what is added.
//
// An entry that was added is on disk, over a failure of power too. Entries are given in the order
// in which they were added, whichever slots they lie in; those of one slot keep their order, and
// entries of one message stay together. Processes go by the machine's clock there; one that was set
// back changes nothing among the slots that a process has adopted.
//
// When there is no room, on disk or by the limits, adding fails and says so, and all else goes on.
namespace carillon::outbox {

struct OutboxConfig {
  std::string folder{};
  // Where what is written here is to go; at least one. Processes that share an address share what
  // they have to deliver.
  std::vector<std::string> addresses{};
  // Of which this process is; empty: there are none.
  std::string group{};
  // More: a longer absence of the other side is survived; the disk fills further.
  std::int64_t entries_max = 100'000;
  std::int64_t bytes_max = std::int64_t{256} << 20;
  // Whether somebody will be shown what was set aside. Else only the newest 1000 of a slot stay,
  // for whoever looks into the file, and take of no room.
  bool shows_set_aside = false;
  bool logs_others = true;  // what lies there for other addresses
};

// Slots in one folder: as many processes at a time.
inline constexpr int kSlotsMax = 1000;

// Shows what was set aside in `folder`, slot by slot and page by page, each oldest first; what
// `show` answers with true is forgotten. What other processes hold, or this one's own Outbox, is
// left out.
void visit_set_aside(const std::string& folder, const Clock& clock,
                     const std::function<bool(const std::vector<SetAside>&)>& show);

// A slot with entries for other addresses than `ours`, as far as no process holds it.
struct ForOthers {
  std::vector<std::string> addresses{};
  std::int64_t entries = 0;
};
std::vector<ForOthers> stored_for_others(const std::string& folder,
                                         const std::vector<std::string>& ours, const Clock& clock);

// Removes what is stored for exactly these addresses, in whatever order, as far as no process holds
// it; `removed` is shown each entry that is gone. What was set aside stays.
Status discard(const std::string& folder, const std::vector<std::string>& addresses,
               const Clock& clock, const std::function<void(const Entry&)>& removed);

// Thread: one at a time.
class Outbox {
 public:
  // Makes nothing and never fails: a folder that is not there or cannot be read has nothing to
  // adopt, and what is wrong with it is said when something is added.
  Outbox(OutboxConfig config, const Clock& clock);
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  WorkDone run(Work work);

  // In all slots.
  std::int64_t entries() const;
  // No entry has a higher id; those to be added must have.
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
  const std::vector<std::string> destinations_;  // the addresses and the group, as slots keep them
  const Clock& clock_;
  std::vector<std::unique_ptr<Slot>> slots_;  // by number
  Slot* own_ = nullptr;
  std::set<int> told_of_;  // slots for other addresses
};

}  // namespace carillon::outbox
