#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "carillon/result.h"
#include "carillon/time.h"

// What lies in an outbox, and what is to be done with it.
namespace carillon::outbox {

// The slot that this process writes into, whichever that is.
inline constexpr int kOwnSlot = -1;

struct EntryId {
  int slot = kOwnSlot;
  std::int64_t id = 0;  // rises with each entry of a slot; 0: none
  auto operator<=>(const EntryId&) const = default;
  explicit operator bool() const { return id != 0; }
};

// Something that is to be delivered. The number is the one that it was sent with, or will be: a
// second delivery carries the same, so that the other side can tell.
struct Entry {
  EntryId id{};
  std::int64_t client = 0;    // 0: no number was drawn yet
  std::int64_t sequence = 0;  // of that client
  WallTime sent_at{};         // with that number, first; 0: never
  std::string body{};
};

struct Numbering {
  EntryId id{};
  std::int64_t client = 0;
  std::int64_t sequence = 0;
  WallTime sent_at{};
};

// Several may be of one entry.
struct Refusal {
  EntryId id{};
  std::string reason{};
  std::string body{};    // the part of the entry that it is about; empty: all of it
  std::string answer{};  // of the other side, as it is to be kept; empty: there was none
};

// What could never be delivered.
struct SetAside {
  std::int64_t id = 0;  // rises in its slot
  std::string reason{};
  std::string body{};
  std::string answer{};
};

struct SetAsideSize {
  std::int64_t entries = 0;
  std::int64_t bytes = 0;  // of bodies and answers
};

// The oldest entries, of one slot.
struct Load {
  std::size_t entries_max = 1000;
  std::size_t bytes_max = 4 * 1024 * 1024;  // but at least one entry
  // Whether those count that this process wrote itself.
  bool own_too = true;
};

// One transaction for each slot that it touches.
struct Work {
  std::vector<Entry> add{};          // in order; to kOwnSlot, with ids that rise
  std::vector<EntryId> remove{};     // were delivered
  std::vector<Numbering> number{};   // are about to be sent
  std::vector<Refusal> set_aside{};  // can never be delivered
  bool adopt = false;                // looks for slots of processes that have died meanwhile
  bool adopt_any_group = false;      // and then for those of other groups too
  bool load = false;
  Load what{};

  bool empty() const {
    return add.empty() && remove.empty() && number.empty() && set_aside.empty() && !adopt && !load;
  }
};

struct WorkDone {
  Work work{};  // as it was given
  // Why nothing of it is sure to be done. It may be given again: nothing happens twice.
  Status status{};
  // So many of `add` are on disk, from the front; and why not more.
  std::size_t added = 0;
  Status room{};
  std::int64_t set_aside = 0;  // takes of the room, until it is forgotten
  std::vector<Entry> loaded{};
  std::int64_t left = 0;  // entries in all slots
};

// The way to an outbox from a loop, which must not wait for a disk.
//
// Thread: the loop.
class Lane {
 public:
  virtual ~Lane() = default;
  // Requires: the work before was taken.
  virtual void start(Work work) = 0;
  // What was started, once it is done; the loop is woken for that.
  virtual std::optional<WorkDone> take() = 0;
};

}  // namespace carillon::outbox
