#include "shared/outbox/outbox.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <map>
#include <utility>

#include "shared/base/assert.h"
#include "shared/base/log.h"
#include "shared/base/utf8.h"

namespace carillon::outbox {
namespace {

constexpr std::string_view kEnding = ".db";
// A slot stores its group among its addresses, with this prefix, which no address has.
constexpr std::string_view kGroup = "group:";
constexpr std::int64_t kAnyId = std::numeric_limits<std::int64_t>::max();

// The number in "17.db"; none for other names.
std::optional<int> slot_number(const std::string& name) {
  if (!name.ends_with(kEnding)) return std::nullopt;
  int number = 0;
  const char* const end = name.data() + name.size() - kEnding.size();
  const auto [stopped, error] = std::from_chars(name.data(), end, number);
  if (error != std::errc{} || stopped != end || number < 0 || number >= kSlotsMax) {
    return std::nullopt;
  }
  return number;
}

// One spelling for addresses that are known to be the same.
std::string usual_spelling(const std::string& address) {
  constexpr std::string_view kLocalhost = "//localhost";
  std::string usual = lower_ascii(address);
  const std::size_t start = usual.find(kLocalhost);
  const std::size_t end = start + kLocalhost.size();
  const bool is_whole =
      start != std::string::npos && (end == usual.size() || usual[end] == ':' || usual[end] == '/');
  if (is_whole) usual.replace(start, kLocalhost.size(), "//127.0.0.1");
  return usual;
}

std::set<std::string> usual_spellings(const std::vector<std::string>& addresses) {
  std::set<std::string> usual;
  for (const std::string& address : addresses) usual.insert(usual_spelling(address));
  return usual;
}

bool share_address(const std::vector<std::string>& some, const std::vector<std::string>& others) {
  const std::set<std::string> usual = usual_spellings(some);
  return std::any_of(others.begin(), others.end(), [&usual](const std::string& other) {
    return usual.contains(usual_spelling(other));
  });
}

std::vector<std::string> destinations_of(const OutboxConfig& config) {
  std::vector<std::string> destinations = config.addresses;
  if (!config.group.empty()) destinations.push_back(std::string{kGroup} + config.group);
  return destinations;
}

Status show_pages(Slot& slot, const std::function<bool(const std::vector<SetAside>&)>& show) {
  std::int64_t after = 0;
  while (true) {
    const std::vector<SetAside> page = CARILLON_TRY(slot.set_aside(after));
    if (page.empty()) return {};
    if (show(page)) CARILLON_TRY(slot.forget_set_aside(page));
    after = page.back().id;
  }
}

std::vector<int> slots_in(const std::string& folder) {
  std::vector<int> numbers;
  std::error_code failed;
  auto file = std::filesystem::directory_iterator(folder, failed);
  for (; !failed && file != std::filesystem::directory_iterator(); file.increment(failed)) {
    if (const auto number = slot_number(file->path().filename().string())) {
      numbers.push_back(*number);
    }
  }
  if (failed && failed != std::errc::no_such_file_or_directory) {
    logger().warn("cannot list an outbox", "folder", folder, "reason", failed.message());
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

}  // namespace

Outbox::Outbox(OutboxConfig config, const Clock& clock)
    : config_(std::move(config)), destinations_(destinations_of(config_)), clock_(clock) {
  adopt(false);
  // Entries in a slot for other addresses would belong to them too.
  const auto own =
      std::find_if(slots_.begin(), slots_.end(), [this](const std::unique_ptr<Slot>& slot) {
        return usual_spellings(slot->addresses()) == usual_spellings(destinations_);
      });
  if (own != slots_.end()) own_ = own->get();
}

void Outbox::adopt(bool any_group) {
  for (const int number : slots_in(config_.folder)) adopt(number, any_group);
}

void Outbox::adopt(int number, bool any_group) {
  const auto place = std::find_if(slots_.begin(), slots_.end(),
                                  [number](const auto& slot) { return slot->number() >= number; });
  if (place != slots_.end() && (*place)->number() == number) return;
  auto slot = Slot::open(config_.folder, number, clock_);
  if (!slot.ok()) {
    if (slot.error().code != ErrorCode::kConflict) {
      logger().warn("cannot open a slot of an outbox; its entries are not delivered", "folder",
                    config_.folder, "slot", number, "reason", slot.error().message);
    }
    return;
  }
  if (slot.value()->entries() == 0) return;
  if (!is_for_us(*slot.value())) return tell_of_others(*slot.value());
  if (!any_group && is_of_another_group(*slot.value())) return;
  logger().debug("slot of an outbox adopted", "folder", config_.folder, "slot", number, "entries",
                 slot.value()->entries());
  slots_.insert(place, std::move(slot).value());
}

bool Outbox::is_for_us(const Slot& slot) const {
  return share_address(slot.addresses(), config_.addresses);
}

// A slot without a group was written by a version without groups.
bool Outbox::is_of_another_group(const Slot& slot) const {
  const auto group =
      std::find_if(slot.addresses().begin(), slot.addresses().end(),
                   [](const std::string& destination) { return destination.starts_with(kGroup); });
  return group != slot.addresses().end() && group->substr(kGroup.size()) != config_.group;
}

void Outbox::tell_of_others(const Slot& slot) {
  if (!config_.logs_others || !told_of_.insert(slot.number()).second) return;
  std::string addresses;
  for (const std::string& address : slot.addresses()) {
    if (address.starts_with(kGroup)) continue;
    addresses += (addresses.empty() ? "" : ",") + address;
  }
  logger().warn(
      "entries for other addresses are not delivered (name one of the addresses to deliver them)",
      "addresses", addresses, "entries", slot.entries(), "folder", config_.folder);
}

Status Outbox::make_folder() const {
  namespace fs = std::filesystem;
  if (config_.folder.empty()) {
    return Error{ErrorCode::kInvalidArgument, "no folder is given for the outbox (give one)"};
  }
  std::error_code failed;
  const bool made = fs::create_directories(config_.folder, failed);
  if (failed) {
    return Error{failed == std::errc::no_space_on_device ? ErrorCode::kLimit : ErrorCode::kDenied,
                 "cannot create folder " + config_.folder + ": " + failed.message()};
  }
  // Submissions may contain secrets.
  if (made) fs::permissions(config_.folder, fs::perms::owner_all, failed);
  return {};
}

Result<Slot*> Outbox::own() {
  if (own_ != nullptr) return own_;
  CARILLON_TRY(make_folder());
  for (int number = 0; number < kSlotsMax; ++number) {
    std::error_code ignored;
    const bool was_there =
        std::filesystem::exists(config_.folder + "/" + std::to_string(number) + ".db", ignored);
    auto slot = Slot::open(config_.folder, number, clock_);
    if (!slot.ok() && (was_there || slot.error().code == ErrorCode::kConflict)) continue;
    if (!slot.ok()) return slot.error();
    // For other addresses; or another process was faster, and has released it since.
    if (slot.value()->entries() > 0) continue;
    own_ = slot.value().get();
    slots_.push_back(std::move(slot).value());
    std::sort(slots_.begin(), slots_.end(),
              [](const auto& one, const auto& other) { return one->number() < other->number(); });
    return own_;
  }
  return Error{ErrorCode::kLimit, "all " + std::to_string(kSlotsMax) + " slots of outbox " +
                                      config_.folder + " are in use (use another folder)"};
}

std::int64_t Outbox::entries() const {
  std::int64_t all = 0;
  for (const auto& slot : slots_) all += slot->entries();
  return all;
}

std::int64_t Outbox::last_id() const {
  std::int64_t last = 0;
  for (const auto& slot : slots_) last = std::max(last, slot->adopted_through());
  return last;
}

WorkDone Outbox::run(Work work) {
  WorkDone done;
  if (work.adopt) adopt(work.adopt_any_group);
  Status added;
  // Its rejected entries count, so it is opened first.
  if (!work.add.empty()) {
    if (const Result<Slot*> slot = own(); !slot.ok()) added = slot.error();
  }
  std::size_t add = added.ok() ? room_for(work.add, done.room) : 0;
  if (added.ok()) done.set_aside = set_aside_size().entries;
  done.status = change(work, add, added);
  if (!added.ok()) {
    done.room = added;
    add = 0;
  }
  done.added = add;
  if (work.load) {
    auto loaded = load(work.what);
    if (loaded.ok()) {
      done.loaded = std::move(loaded).value();
    } else if (done.status.ok()) {
      done.status = loaded.error();
    }
  }
  let_go_of_empty();
  done.left = entries();
  done.work = std::move(work);
  return done;
}

// How many of them, from the front, fit the limits.
std::size_t Outbox::room_for(const std::vector<Entry>& entries, Status& status) const {
  const SetAsideSize set_aside = set_aside_size();
  std::int64_t count = set_aside.entries;
  std::int64_t bytes = set_aside.bytes;
  for (const auto& slot : slots_) {
    count += slot->entries();
    bytes += slot->bytes();
  }
  std::size_t fitting = 0;
  for (const Entry& entry : entries) {
    ++count;
    bytes += static_cast<std::int64_t>(entry.body.size());
    if (count > config_.entries_max || bytes > config_.bytes_max) {
      status = Error{ErrorCode::kLimit,
                     "outbox " + config_.folder + " is full, at most " +
                         std::to_string(config_.entries_max) + " entries and " +
                         std::to_string(config_.bytes_max) + " bytes" +
                         (set_aside.entries == 0
                              ? ""
                              : ", and " + std::to_string(set_aside.entries) + " are set aside")};
      break;
    }
    ++fitting;
  }
  return fitting;
}

// The size of entries that count towards the limits.
SetAsideSize Outbox::set_aside_size() const {
  SetAsideSize all;
  if (!config_.shows_set_aside) return all;
  for (const auto& slot : slots_) {
    all.entries += slot->set_aside_size().entries;
    all.bytes += slot->set_aside_size().bytes;
  }
  return all;
}

Slot* Outbox::find(const EntryId& id) {
  if (id.slot == kOwnSlot) return own_;
  const auto found = std::find_if(slots_.begin(), slots_.end(),
                                  [&](const auto& slot) { return slot->number() == id.slot; });
  return found == slots_.end() ? nullptr : found->get();
}

// Later than all existing entries.
WallTime Outbox::next_added() const {
  WallTime next = clock_.wall_now();
  for (const auto& slot : slots_) {
    next = std::max(next, slot->newest() + std::chrono::microseconds{1});
  }
  return next;
}

// Requires: an own slot, if something is added. `added`: number of entries added to it. Each slot
// is written in its own transaction.
Status Outbox::change(Work& work, std::size_t add, Status& added) {
  std::map<Slot*, Slot::Change> changes;
  // All entries of a released slot were delivered.
  for (const EntryId& id : work.remove) {
    if (Slot* slot = find(id)) changes[slot].remove.push_back(id.id);
  }
  for (const Numbering& numbering : work.number) {
    if (Slot* slot = find(numbering.id)) changes[slot].number.push_back(&numbering);
  }
  for (const Refusal& refusal : work.set_aside) {
    if (Slot* slot = find(refusal.id)) changes[slot].set_aside.push_back(&refusal);
  }
  if (add > 0) {
    CARILLON_ASSERT(own_ != nullptr, "run() opens the outbox before the first entry");
    changes[own_].addresses = &destinations_;
    changes[own_].added_at = next_added();
    for (std::size_t i = 0; i < add; ++i) changes[own_].add.push_back(&work.add[i]);
  }
  Status first = added;
  for (auto& [slot, change] : changes) {
    change.keeps_set_aside = config_.shows_set_aside;
    Status applied = slot->apply(change);
    if (!applied.ok() && !change.add.empty()) added = applied;
    if (!applied.ok() && first.ok()) first = std::move(applied);
  }
  return first;
}

std::int64_t Outbox::loaded_through(const Slot& slot, const Load& what) const {
  const bool all = &slot != own_ || what.own_too;
  return all ? kAnyId : slot.adopted_through();
}

// Loads from the slot with the oldest entry, until another slot's first entry is older.
Result<std::vector<Entry>> Outbox::load(const Load& what) {
  struct First {
    WallTime added_at{};
    int number = 0;
    Slot* slot = nullptr;
    auto operator<=>(const First&) const = default;
  };
  std::vector<First> firsts;
  for (const auto& slot : slots_) {
    const auto oldest = CARILLON_TRY(slot->oldest(loaded_through(*slot, what)));
    if (oldest) firsts.push_back({*oldest, slot->number(), slot.get()});
  }
  if (firsts.empty()) return std::vector<Entry>{};
  std::sort(firsts.begin(), firsts.end());
  const First& first = firsts.front();
  WallTime last = WallTime::max();
  if (firsts.size() > 1) {
    const First& next = firsts[1];
    // Of entries with the same time, the lower slot's come first.
    last =
        first.number < next.number ? next.added_at : next.added_at - std::chrono::microseconds{1};
  }
  return first.slot->load(what, loaded_through(*first.slot, what), last);
}

void Outbox::let_go_of_empty() {
  // Any process may show rejected entries, so the slot must be released.
  const bool own_goes = own_ != nullptr && own_->entries() == 0 && own_->has_set_aside();
  if (own_goes) own_ = nullptr;
  std::erase_if(slots_,
                [this](const auto& slot) { return slot.get() != own_ && slot->entries() == 0; });
}

std::vector<ForOthers> stored_for_others(const std::string& folder,
                                         const std::vector<std::string>& ours, const Clock& clock) {
  std::vector<ForOthers> found;
  for (const int number : slots_in(folder)) {
    const auto slot = Slot::open(folder, number, clock);
    if (!slot.ok() || slot.value()->entries() == 0) continue;
    if (share_address(slot.value()->addresses(), ours)) continue;
    found.push_back({slot.value()->addresses(), slot.value()->entries()});
  }
  return found;
}

Status discard(const std::string& folder, const std::vector<std::string>& addresses,
               const Clock& clock, const std::function<void(const Entry&)>& removed) {
  const std::set<std::string> wanted = usual_spellings(addresses);
  for (const int number : slots_in(folder)) {
    const auto slot = Slot::open(folder, number, clock);
    if (!slot.ok() || usual_spellings(slot.value()->addresses()) != wanted) continue;
    while (slot.value()->entries() > 0) {
      const std::vector<Entry> entries =
          CARILLON_TRY(slot.value()->load({}, kAnyId, WallTime::max()));
      Slot::Change change;
      for (const Entry& entry : entries) change.remove.push_back(entry.id.id);
      CARILLON_TRY(slot.value()->apply(change));
      for (const Entry& entry : entries) removed(entry);
    }
  }
  return {};
}

void visit_set_aside(const std::string& folder, const Clock& clock,
                     const std::function<bool(const std::vector<SetAside>&)>& show) {
  for (const int number : slots_in(folder)) {
    const auto slot = Slot::open(folder, number, clock);
    if (!slot.ok() || !slot.value()->has_set_aside()) continue;
    if (const Status done = show_pages(*slot.value(), show); !done.ok()) {
      logger().warn("cannot show or delete the rejected entries of an outbox", "folder", folder,
                    "slot", number, "reason", done.error().message);
    }
  }
}

}  // namespace carillon::outbox
