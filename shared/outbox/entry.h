#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "carillon/result.h"
#include "carillon/time.h"

// The entries of an outbox, and the operations on them.
namespace carillon::outbox {

// The slot that this process writes to.
inline constexpr int kOwnSlot = -1;

struct EntryId {
  int slot = kOwnSlot;
  std::int64_t id = 0;  // grows within a slot; 0: none
  auto operator<=>(const EntryId&) const = default;
  explicit operator bool() const { return id != 0; }
};

// A message to deliver. It has the number of its first sending, or of the next one: a second
// delivery has the same number, so that the receiver detects it.
struct Entry {
  EntryId id{};
  std::int64_t client = 0;    // 0: no number is assigned yet
  std::int64_t sequence = 0;  // of that client
  WallTime sent_at{};         // first sending with that number; 0: never
  std::string body{};
};

struct Numbering {
  EntryId id{};
  std::int64_t client = 0;
  std::int64_t sequence = 0;
  WallTime sent_at{};
};

// A rejected entry, or a part of one.
struct Refusal {
  EntryId id{};
  std::string reason{};
  std::string body{};    // the rejected part of the entry; empty: all of it
  std::string answer{};  // the receiver's answer, as stored; empty: none
};

// An entry that can never be delivered.
struct SetAside {
  std::int64_t id = 0;  // grows within its slot
  std::string reason{};
  std::string body{};
  std::string answer{};
};

struct SetAsideSize {
  std::int64_t entries = 0;
  std::int64_t bytes = 0;  // of bodies and answers
};

// Reads the oldest entries of one slot.
struct Load {
  std::size_t entries_max = 1000;
  std::size_t bytes_max = 4 * 1024 * 1024;  // but at least one entry
  // Includes entries that this process wrote itself.
  bool own_too = true;
};

// Operations for an outbox; one transaction per slot.
struct Work {
  std::vector<Entry> add{};          // in order; for kOwnSlot, with growing ids
  std::vector<EntryId> remove{};     // delivered entries
  std::vector<Numbering> number{};   // entries that are about to be sent
  std::vector<Refusal> set_aside{};  // entries that can never be delivered
  bool adopt = false;                // adopts slots of processes that have died
  bool adopt_any_group = false;      // and also those of other groups
  bool load = false;
  Load what{};

  bool empty() const {
    return add.empty() && remove.empty() && number.empty() && set_aside.empty() && !adopt && !load;
  }
};

struct WorkDone {
  Work work{};  // as it was given
  // Why some of it may not be done. The work may be repeated: nothing happens twice.
  Status status{};
  // Number of entries of `add` on disk, from the front, and why not more.
  std::size_t added = 0;
  Status room{};
  std::int64_t set_aside = 0;  // bytes of rejected entries, until they are deleted
  std::vector<Entry> loaded{};
  std::int64_t left = 0;  // entries in all slots
};

// The interface of a loop to an outbox: the loop must not wait for a disk.
//
// Thread: the loop.
class OutboxWriter {
 public:
  virtual ~OutboxWriter() = default;
  // Requires: the previous work was taken.
  virtual void start(Work work) = 0;
  // The started work, when it is done; the loop is woken for it.
  virtual std::optional<WorkDone> take() = 0;
};

}  // namespace carillon::outbox
