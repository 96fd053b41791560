#include "shared/outbox/slot.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/base/log.h"
#include "shared/outbox/embedded_schema.h"
#include "shared/sql/sqlite/sqlite_connection.h"

namespace carillon::outbox {
namespace {

using sql::Value;

// Number of rejected entries that are kept if they are not shown to a user.
constexpr std::int64_t kUnshownMax = 1000;
constexpr std::int64_t kEveryId = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kIdMax = kEveryId / 2;

constexpr std::string_view kVersionOf = "PRAGMA user_version";
constexpr std::string_view kSetVersion = "PRAGMA user_version = ";  // followed by the number
// Reads every page, so that damage is found now and not during a delivery.
constexpr std::string_view kCheck = "PRAGMA quick_check(1)";
constexpr std::string_view kCount =
    "SELECT COUNT(*), COALESCE(SUM(LENGTH(body)), 0), COALESCE(MAX(id), 0), "
    "COALESCE(MAX(added_us), 0), COALESCE(MIN(id), 1) FROM lts_outbox_entry";
constexpr std::string_view kCountSetAside =
    "SELECT COUNT(*), COALESCE(SUM(LENGTH(body) + LENGTH(answer)), 0) FROM lts_outbox_refused";
constexpr std::string_view kAddresses = "SELECT address FROM lts_outbox_address";
constexpr std::string_view kAddAddress =
    "INSERT OR IGNORE INTO lts_outbox_address (address) VALUES (?)";
constexpr std::string_view kDropAddresses = "DELETE FROM lts_outbox_address";
constexpr std::string_view kAdd =
    "INSERT OR IGNORE INTO lts_outbox_entry (id, client, sequence, sent_us, added_us, body) "
    "VALUES (?, ?, ?, ?, ?, ?)";
constexpr std::string_view kRemove =
    "DELETE FROM lts_outbox_entry WHERE id = ? RETURNING LENGTH(body)";
constexpr std::string_view kNumber =
    "UPDATE lts_outbox_entry SET client = ?, sequence = ?, sent_us = ? WHERE id = ?";
constexpr std::string_view kSetAside =
    "INSERT INTO lts_outbox_refused (id, refused_us, reason, body, answer) "
    "SELECT (SELECT COALESCE(MAX(id), 0) + 1 FROM lts_outbox_refused), ?, ?, COALESCE(?, body), ? "
    "FROM lts_outbox_entry WHERE id = ? RETURNING LENGTH(body) + LENGTH(answer)";
constexpr std::string_view kListSetAside =
    "SELECT id, reason, body, answer FROM lts_outbox_refused WHERE id > ? ORDER BY id LIMIT ?";
constexpr std::string_view kForgetSetAside =
    "DELETE FROM lts_outbox_refused WHERE id > ? AND id <= ? "
    "RETURNING LENGTH(body) + LENGTH(answer)";
constexpr std::string_view kForgetOldest =
    "DELETE FROM lts_outbox_refused WHERE id <= "
    "(SELECT id FROM lts_outbox_refused ORDER BY id DESC LIMIT 1 OFFSET ?) "
    "RETURNING LENGTH(body) + LENGTH(answer)";
constexpr std::string_view kOldest =
    "SELECT added_us FROM lts_outbox_entry WHERE id <= ? ORDER BY id LIMIT 1";
constexpr std::string_view kLoad =
    "SELECT id, client, sequence, sent_us, body FROM lts_outbox_entry WHERE id <= ? "
    "ORDER BY id LIMIT ?";
// Up to the first entry that was added later and belongs to another message than the first.
constexpr std::string_view kLoadUntil =
    "SELECT id, client, sequence, sent_us, body FROM lts_outbox_entry WHERE id <= ? AND id < "
    "COALESCE((SELECT id FROM lts_outbox_entry WHERE added_us > ? AND (sequence = 0 OR "
    "(client, sequence) <> (SELECT client, sequence FROM lts_outbox_entry ORDER BY id LIMIT 1)) "
    "ORDER BY id LIMIT 1), 9223372036854775807) ORDER BY id LIMIT ?";

constexpr std::array<const char*, 3> kParts{"", "-wal", "-shm"};

// SQLite creates files that every user may read, and gives the log the permissions of its file.
// Submissions may contain secrets.
void close_to_others(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file >= 0) ::close(file);  // Otherwise opening it reports the error.
  for (const char* part : kParts) ::chmod((path + part).c_str(), S_IRUSR | S_IWUSR);
}

// In range also where a damaged file says otherwise.
WallTime time_in(const sql::Row& row, int column) {
  constexpr std::int64_t kMicrosecondsMax = 253'402'300'799'999'999;  // year 9999
  const std::int64_t time = std::clamp<std::int64_t>(row.integer(column), 0, kMicrosecondsMax);
  return WallTime{std::chrono::microseconds{time}};
}

Value value_of(WallTime time) { return Value::of(time.time_since_epoch().count()); }

}  // namespace

const Logger& logger() {
  static const Logger log{"outbox"};
  return log;
}

Result<std::unique_ptr<Slot>> Slot::open(const std::string& folder, int number,
                                         const Clock& clock) {
  const std::string base = folder + "/" + std::to_string(number);
  auto lock = CARILLON_TRY(FileLock::take(base + ".lock"));
  std::unique_ptr<Slot> slot(new Slot(std::move(lock), base + ".db", number, clock));
  Status connected = slot->connect();
  if (!connected.ok() && connected.error().code == ErrorCode::kCorrupt) {
    CARILLON_TRY(slot->move_aside(connected.error().message));
    connected = slot->connect();
  }
  CARILLON_TRY(std::move(connected));
  return slot;
}

Slot::Slot(FileLock lock, std::string path, int number, const Clock& clock)
    : lock_(std::move(lock)), path_(std::move(path)), number_(number), clock_(clock) {}

Slot::~Slot() {
  const bool is_empty = db_ != nullptr && entries_ == 0 && !has_set_aside();
  db_.reset();
  if (!is_empty) return;
  std::error_code ignored;  // Then it stays, and is found empty.
  for (const char* part : kParts) std::filesystem::remove(path_ + part, ignored);
}

Status Slot::connect() {
  Status connected = try_connect();
  if (!connected.ok()) db_.reset();
  return connected;
}

Status Slot::try_connect() {
  close_to_others(path_);
  db_ = CARILLON_TRY(sql::SqliteConnection::open(path_, {.cache_mib = 2, .mmap_mib = 0}));
  CARILLON_TRY(check_version());
  std::string found;
  CARILLON_TRY(
      db_->query(kCheck, {}, [&](const sql::Row& row) { found = std::string{row.bytes(0)}; }));
  if (found != "ok") {
    return Error{ErrorCode::kCorrupt, "sqlite " + path_ + ": the file is damaged: " + found};
  }
  addresses_.clear();
  CARILLON_TRY(db_->query(kAddresses, {},
                          [&](const sql::Row& row) { addresses_.emplace_back(row.bytes(0)); }));
  CARILLON_TRY(count());
  // The process that wrote entries for others, and its entries, are gone.
  if (entries_ == 0 && !addresses_.empty()) {
    CARILLON_TRY(db_->execute(kDropAddresses, {}));
    addresses_.clear();
  }
  return {};
}

Status Slot::check_version() {
  std::int64_t version = 0;
  CARILLON_TRY(db_->query(kVersionOf, {}, [&](const sql::Row& row) { version = row.integer(0); }));
  const auto newest = static_cast<std::int64_t>(migrations().size());
  if (version == newest) return {};
  if (version < 0) {
    return Error{ErrorCode::kCorrupt, "sqlite " + path_ + ": the file is damaged: its version is " +
                                          std::to_string(version)};
  }
  if (version > newest) {
    return Error{ErrorCode::kInvalidArgument,
                 path_ + " was created by a newer version of Carillon (" + std::to_string(version) +
                     ", this version supports " + std::to_string(newest) + "), use that one"};
  }
  CARILLON_TRY(db_->begin());
  for (; version < newest; ++version) {
    CARILLON_TRY(db_->run_script(migrations()[static_cast<std::size_t>(version)]));
  }
  CARILLON_TRY(db_->run_script(std::string{kSetVersion} + std::to_string(newest) + ";"));
  return db_->commit();
}

Status Slot::count() {
  std::int64_t first = 1;
  CARILLON_TRY(db_->query(kCount, {}, [&](const sql::Row& row) {
    entries_ = row.integer(0);
    bytes_ = row.integer(1);
    adopted_through_ = row.integer(2);
    newest_ = time_in(row, 3);
    first = row.integer(4);
  }));
  // New entries get higher ones.
  if (first < 1 || adopted_through_ > kIdMax) {
    return Error{ErrorCode::kCorrupt,
                 "sqlite " + path_ + ": the file is damaged: an entry has no valid id"};
  }
  return db_->query(kCountSetAside, {}, [&](const sql::Row& row) {
    set_aside_ = {.entries = row.integer(0), .bytes = row.integer(1)};
  });
}

Status Slot::apply(const Change& change) {
  if (change.empty()) return {};
  if (db_ == nullptr) CARILLON_TRY(connect());
  Status done = write(change);
  if (done.ok() || !reopen_after(done.error())) return done;
  return write(change);
}

Status Slot::write(const Change& change) {
  std::int64_t entries = 0;
  std::int64_t bytes = 0;
  const auto remove = [&](std::int64_t id) {
    const std::array<Value, 1> value{Value::of(id)};
    return db_->query(kRemove, value, [&](const sql::Row& row) {
      --entries;
      bytes -= row.integer(0);
    });
  };
  SetAsideSize set_aside = set_aside_;
  CARILLON_TRY(db_->begin());
  for (const Refusal* refusal : change.set_aside) {
    const std::array<Value, 5> values{
        value_of(clock_.wall_now()), Value::of_text(refusal->reason),
        refusal->body.empty() ? Value::null() : Value::of_bytes(refusal->body),
        Value::of_bytes(refusal->answer), Value::of(refusal->id.id)};
    CARILLON_TRY(db_->query(kSetAside, values, [&](const sql::Row& row) {
      ++set_aside.entries;
      set_aside.bytes += row.integer(0);
    }));
  }
  for (const Refusal* refusal : change.set_aside) CARILLON_TRY(remove(refusal->id.id));
  if (!change.set_aside.empty() && !change.keeps_set_aside) {
    const std::array<Value, 1> kept{Value::of(kUnshownMax)};
    CARILLON_TRY(db_->query(kForgetOldest, kept, [&](const sql::Row& row) {
      --set_aside.entries;
      set_aside.bytes -= row.integer(0);
    }));
  }
  for (const std::int64_t id : change.remove) CARILLON_TRY(remove(id));
  for (const Numbering* numbering : change.number) {
    const std::array<Value, 4> values{Value::of(numbering->client), Value::of(numbering->sequence),
                                      value_of(numbering->sent_at), Value::of(numbering->id.id)};
    CARILLON_TRY(db_->execute(kNumber, values));
  }
  for (const Entry* entry : change.add) {
    const std::array<Value, 6> values{Value::of(entry->id.id),    Value::of(entry->client),
                                      Value::of(entry->sequence), value_of(entry->sent_at),
                                      value_of(change.added_at),  Value::of_bytes(entry->body)};
    const std::int64_t added = CARILLON_TRY(db_->execute(kAdd, values));
    entries += added;
    if (added > 0) bytes += static_cast<std::int64_t>(entry->body.size());
  }
  std::vector<std::string> addresses = addresses_;
  for (const std::string& address : change.addresses ? *change.addresses : addresses_) {
    if (std::find(addresses.begin(), addresses.end(), address) != addresses.end()) continue;
    const std::array<Value, 1> value{Value::of_text(address)};
    CARILLON_TRY(db_->execute(kAddAddress, value));
    addresses.push_back(address);
  }
  CARILLON_TRY(db_->commit());
  addresses_ = std::move(addresses);
  set_aside_ = set_aside;
  if (!change.add.empty()) newest_ = std::max(newest_, change.added_at);
  entries_ += entries;
  bytes_ += bytes;
  return {};
}

bool Slot::reopen_after(const Error& error) {
  const bool is_damaged = error.code == ErrorCode::kCorrupt;
  // The outcome of a commit that failed in the middle is unknown: repeating it is safe.
  const bool is_broken = error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kTimeout;
  if (!is_damaged && !is_broken) return false;
  const std::int64_t adopted_through = adopted_through_;
  db_.reset();
  if (is_damaged && !move_aside(error.message).ok()) return false;
  const bool is_open = connect().ok();
  adopted_through_ = adopted_through;
  return is_open;
}

Status Slot::move_aside(const std::string& why) {
  db_.reset();
  const std::string to =
      path_ + ".damaged-" +
      std::to_string(clock_.wall_now().time_since_epoch() / std::chrono::seconds{1});
  for (const char* part : kParts) {
    std::error_code failed;
    if (!std::filesystem::exists(path_ + part, failed)) continue;
    std::filesystem::rename(path_ + part, to + part, failed);
    if (failed) {
      return Error{ErrorCode::kCorrupt, why + ", and it cannot be renamed: " + failed.message()};
    }
  }
  logger().error("renamed a damaged outbox; its entries are not delivered", "moved", to, "reason",
                 why);
  return {};
}

Error Slot::give_up_entries() {
  const Error error{ErrorCode::kCorrupt,
                    "sqlite " + path_ + ": the file is damaged: its entries cannot be found"};
  reopen_after(error);
  return error;
}

Result<std::optional<WallTime>> Slot::oldest(std::int64_t through) {
  if (db_ == nullptr) CARILLON_TRY(connect());
  std::optional<WallTime> oldest;
  const std::array<Value, 1> limit{Value::of(through)};
  const Status found =
      db_->query(kOldest, limit, [&](const sql::Row& row) { oldest = time_in(row, 0); });
  if (found.ok() && !oldest && through == kEveryId && entries_ > 0) return give_up_entries();
  if (found.ok()) return oldest;
  reopen_after(found.error());  // See load().
  return found.error();
}

Result<std::vector<Entry>> Slot::load(const Load& what, std::int64_t through, WallTime last) {
  if (db_ == nullptr) CARILLON_TRY(connect());
  std::vector<Entry> entries;
  std::size_t bytes = 0;
  bool is_full = false;
  std::vector<Value> limits{Value::of(through)};
  // To find a later one, all entries would have to be read.
  const bool is_all = last == WallTime::max();
  if (!is_all) limits.push_back(value_of(last));
  limits.push_back(Value::of(static_cast<std::int64_t>(what.entries_max)));
  const Status loaded = db_->query(is_all ? kLoad : kLoadUntil, limits, [&](const sql::Row& row) {
    if (is_full) return;
    const std::string_view body = row.bytes(4);
    is_full = (!entries.empty() && bytes + body.size() > what.bytes_max);
    if (is_full) return;
    bytes += body.size();
    entries.push_back({.id = {number_, row.integer(0)},
                       .client = row.integer(1),
                       .sequence = row.integer(2),
                       .sent_at = time_in(row, 3),
                       .body = std::string{body}});
  });
  const bool is_lost = entries.empty() && is_all && through == kEveryId && entries_ > 0;
  if (loaded.ok() && is_lost) return give_up_entries();
  if (loaded.ok()) return entries;
  // Damaged: it is empty now. Broken: retry later.
  reopen_after(loaded.error());
  return loaded.error();
}

Result<std::vector<SetAside>> Slot::set_aside(std::int64_t after) {
  constexpr Load kPage{};
  std::vector<SetAside> page;
  std::size_t bytes = 0;
  bool is_full = false;
  const std::array<Value, 2> limits{Value::of(after),
                                    Value::of(static_cast<std::int64_t>(kPage.entries_max))};
  CARILLON_TRY(db_->query(kListSetAside, limits, [&](const sql::Row& row) {
    const std::size_t next = row.bytes(2).size() + row.bytes(3).size();
    is_full = is_full || (!page.empty() && bytes + next > kPage.bytes_max);
    if (is_full) return;
    bytes += next;
    page.push_back({.id = row.integer(0),
                    .reason = std::string{row.bytes(1)},
                    .body = std::string{row.bytes(2)},
                    .answer = std::string{row.bytes(3)}});
  }));
  return page;
}

Status Slot::forget_set_aside(const std::vector<SetAside>& page) {
  if (page.empty()) return {};
  SetAsideSize left = set_aside_;
  const std::array<Value, 2> range{Value::of(page.front().id - 1), Value::of(page.back().id)};
  CARILLON_TRY(db_->query(kForgetSetAside, range, [&](const sql::Row& row) {
    --left.entries;
    left.bytes -= row.integer(0);
  }));
  set_aside_ = left;
  return {};
}

}  // namespace carillon::outbox
