#include "jobtracker/push/executor_registry.h"

#include <algorithm>
#include <utility>

namespace carillon::jobtracker {
namespace {

constexpr Duration kClocksApart =
    std::chrono::seconds{1};  // largest difference of job trackers' clocks

Status check(const ExecutorRegistration& registration) {
  if (registration.app_name.empty() || registration.address.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 "a registration needs registryKey (the app name) and registryValue (the address)"};
  }
  return check_address(registration.address);
}

// Removes duplicates; keeps the first spelling.
std::vector<std::string> each_once(const std::vector<std::string>& addresses) {
  std::vector<std::string> once;
  std::set<std::string> known;
  for (const std::string& address : addresses) {
    if (known.contains(other_spelling(address)) || !known.insert(address).second) continue;
    once.push_back(address);
  }
  return once;
}

}  // namespace

ExecutorRegistry::ExecutorRegistry(
    ExecutorRegistryConfig config, Executors& executors, Ownership& ownership, GroupMaker& groups,
    Batcher& batcher, SchedulingClock& clock, const Logger& log,
    std::function<void(GroupId, const std::string& address)> on_change,
    std::function<void(GroupId, const std::string& address)> on_doubt)
    : config_(config),
      executors_(executors),
      ownership_(ownership),
      groups_(groups),
      batcher_(batcher),
      clock_(clock),
      log_(log),
      on_change_(std::move(on_change)),
      on_doubt_(std::move(on_doubt)) {}

void ExecutorRegistry::start(const StartAnswer& found) {
  started_at_ = clock_.steady_now();
  for (const ExecutorGroup& group : found.executor_groups) executors_.put_group(group);
  for (const ExecutorRow& row : found.executors) {
    executors_.put(row);
    seen_[{row.group, row.address}] = {Rhythm{row.registered_at}, registered_at(row)};
  }
}

void ExecutorRegistry::take(ExecutorRegistration registration, OnStored done) {
  if (Status valid = check(registration); !valid.ok()) return done(std::move(valid));
  const std::string name = registration.app_name;
  groups_.with_group(name, [this, registration = std::move(registration),
                            done = std::move(done)](Result<const Group*> made) mutable {
    if (!made.ok()) return done(made.error());
    const GroupId group = made.value()->id;
    const ExecutorRow* known = executors_.find(group, registration.address);
    if (registration.removes) {
      // A listed executor stays on the list.
      if (known != nullptr && known->is_manual) return done({});
      // Another job tracker may know an executor that is unknown here.
      const std::string& address = known != nullptr ? known->address : registration.address;
      WallTime by = clock_.now() + kClocksApart;
      if (known != nullptr) by = std::max(by, known->registered_at);  // The clock moved back.
      return leave({.group = group, .address = address, .registered_at = by}, Urgency::kRequest,
                   std::move(done));
    }
    if (executors_.are_listed(group) && (known == nullptr || !known->is_manual)) {
      note_unlisted(group, registration.address);
      return done({});
    }
    if (known == nullptr) {
      if (executors_.members(group).size() >= kAddressesMax) {
        return done(Error{ErrorCode::kLimit, "there are " + std::to_string(kAddressesMax) +
                                                 " executors of '" + made.value()->name +
                                                 "', which is the most"});
      }
      // Executors in service are always accepted: overload must not take them out of service.
      if (Status room = batcher_.check_room(); !room.ok()) return done(std::move(room));
    }
    ExecutorRow row = known != nullptr
                          ? *known
                          : ExecutorRow{.group = group, .address = std::move(registration.address)};
    row.registered_at = clock_.now();
    store(std::move(row), std::move(done));
  });
}

void ExecutorRegistry::add(GroupId group, const std::vector<std::string>& list,
                           std::optional<std::string> token, AuditRow audit, OnStored done) {
  const std::vector<std::string> addresses = each_once(list);
  std::vector<Operation> operations;
  operations.emplace_back(PutExecutorGroup{
      {.group = group, .token = std::move(token).value_or(executors_.token(group))}});
  for (const auto& [address, row] : executors_.members(group)) {
    if (std::find(addresses.begin(), addresses.end(), address) != addresses.end()) continue;
    if (!addresses.empty()) {
      operations.emplace_back(
          ChangeExecutor{{.group = group, .address = address}, ExecutorWord::kRemoved});
    } else if (row.is_manual) {
      ExecutorRow left = row;  // It may register itself.
      left.is_manual = false;
      left.place = 0;
      operations.emplace_back(ChangeExecutor{std::move(left)});
    }
  }
  std::int32_t place = 0;
  for (const std::string& address : addresses) {
    const ExecutorRow* known = executors_.find(group, address);
    ExecutorRow row = known != nullptr ? *known : ExecutorRow{.group = group};
    row.address = address;
    row.is_manual = true;
    row.place = ++place;
    operations.emplace_back(ChangeExecutor{std::move(row)});
  }
  operations.emplace_back(AddAudit{std::move(audit)});
  batcher_.post_unit(
      Urgency::kRequest, std::move(operations),
      [this, done = std::move(done)](std::vector<Operation>& stored, const std::vector<Outcome>&,
                                     const Error* refused) {
        if (refused != nullptr) return done(*refused);
        executors_.put_group(std::get<PutExecutorGroup>(stored.front()).row);
        const GroupId of = std::get<PutExecutorGroup>(stored.front()).row.group;
        for (Operation& operation : stored) {
          auto* change = std::get_if<ChangeExecutor>(&operation);
          if (change == nullptr) continue;
          change->goes() ? remove(of, change->row.address) : put(std::move(change->row));
        }
        on_change_(of, {});
        done({});
      });
}

void ExecutorRegistry::remove_group(GroupId group, AuditRow audit, OnStored done) {
  batcher_.post_unit(
      Urgency::kRequest, {RemoveExecutorGroup{.group = group}, AddAudit{std::move(audit)}},
      [this, group, done = std::move(done)](std::vector<Operation>&, const std::vector<Outcome>&,
                                            const Error* refused) {
        if (refused != nullptr) return done(*refused);
        forget(group);
        done({});
      });
}

void ExecutorRegistry::forget(GroupId group) {
  const Executors::Members members = executors_.members(group);
  executors_.remove_group(group);
  for (const auto& [address, row] : members) remove(group, address);
  on_change_(group, {});
}

// A list, or a newer registration than `row`, may have been stored meanwhile.
void ExecutorRegistry::leave(ExecutorRow row, Urgency urgency, OnStored done) {
  batcher_.post(
      urgency, ChangeExecutor{std::move(row), ExecutorWord::kLeft},
      [this, done = std::move(done)](Operation& operation, const Outcome&, const Error* refused) {
        if (refused != nullptr) return done(*refused);
        const ExecutorRow& gone = std::get<ChangeExecutor>(operation).row;
        const ExecutorRow* known = executors_.find(gone.group, gone.address);
        if (known != nullptr && !known->is_manual && known->registered_at <= gone.registered_at) {
          remove(gone.group, gone.address);
        }
        done({});
      });
}

// Another job tracker may have removed the group.
void ExecutorRegistry::store(ExecutorRow row, OnStored done) {
  std::vector<Operation> operations;
  operations.emplace_back(PutExecutorGroup{.row = {.group = row.group}, .is_new = true});
  operations.emplace_back(ChangeExecutor{std::move(row), ExecutorWord::kRegistered});
  batcher_.post_unit(
      Urgency::kRequest, std::move(operations),
      [this, done = std::move(done)](std::vector<Operation>& stored, const std::vector<Outcome>&,
                                     const Error* refused) {
        if (refused != nullptr) return done(*refused);
        ExecutorRow& stored_row = std::get<ChangeExecutor>(stored.back()).row;
        const GroupId of = stored_row.group;
        if (!executors_.has(of)) executors_.put_group({.group = of});
        if (const ExecutorRow* known = executors_.find(of, stored_row.address)) {
          ExecutorRow now = *known;
          now.registered_at = stored_row.registered_at;
          put(std::move(now));
        } else if (!executors_.are_listed(of)) {
          put(std::move(stored_row));
        }
        done({});
      });
}

// As far as the clock is reliable.
SteadyTime ExecutorRegistry::registered_at(const ExecutorRow& row) const {
  const Duration ago = clock_.now() - row.registered_at;
  return clock_.steady_now() - std::clamp(ago, Duration{}, config_.expiry);
}

void ExecutorRegistry::put(ExecutorRow row) {
  const GroupId group = row.group;
  const ExecutorRow* known = executors_.find(group, row.address);
  const bool is_new = known == nullptr;
  if (is_new) log_.info("an executor registered", "address", row.address);
  const std::string address = row.address;
  Seen& seen = seen_[{group, address}];
  if (is_new) {
    seen.at = registered_at(row);
  } else if (row.registered_at != known->registered_at) {
    seen.at = clock_.steady_now();
  }
  if (seen.rhythm.is_broken_by(row.registered_at) && !is_new) on_doubt_(group, address);
  executors_.put(std::move(row));
  on_change_(group, address);
}

// As in xxl-job, an unlisted executor gets a success, but is not called.
void ExecutorRegistry::note_unlisted(GroupId group, const std::string& address) {
  const bool is_new = unlisted_.size() < kAddressesMax && unlisted_.emplace(group, address).second;
  if (!is_new) return;
  log_.warn("an executor registered that is not on its group's list; it is not called", "group",
            group.value, "address", address);
}

void ExecutorRegistry::remove(GroupId group, const std::string& address) {
  log_.info("an executor left", "address", address);
  executors_.remove(group, address);
  seen_.erase({group, address});
  on_change_(group, {});
  on_doubt_(group, address);
}

void ExecutorRegistry::learn(GroupId group, const std::string& address, bool ExecutorRow::*fact,
                             bool is_so) {
  const ExecutorRow* known = executors_.find(group, address);
  if (known == nullptr || known->*fact == is_so) return;
  ExecutorRow row = *known;
  row.*fact = is_so;
  executors_.put(row);
  batcher_.post(Urgency::kHousekeeping, ChangeExecutor{std::move(row), ExecutorWord::kFacts},
                [](Operation&, const Outcome&, const Error*) {});
}

void ExecutorRegistry::run_once() {
  const SteadyTime now = clock_.steady_now();
  const SteadyTime never_before = started_at_ + config_.first_patience;
  for (const GroupId group : executors_.groups()) {
    if (!ownership_.has(group) || now < never_before) continue;
    for (const auto& [address, row] : executors_.members(group)) {
      const bool is_silent = !row.is_manual && now - seen_[{group, address}].at > config_.expiry;
      if (!is_silent || !leaving_.emplace(group, address).second) continue;
      log_.warn("an executor stopped registering; it is out of service", "address", address);
      leave(row, Urgency::kHousekeeping,
            [this, key = std::pair{group, address}](const Status&) { leaving_.erase(key); });
    }
  }
  if (!ownership_.are_several() || is_looking_ || now - looked_at_ < config_.look) return;
  is_looking_ = true;
  looked_at_ = now;
  batcher_.ask(ReadExecutors{}, [this](Result<ReadAnswer> answer) {
    is_looking_ = false;
    if (answer.ok()) take_all(std::get<ExecutorsAnswer>(answer.value()));
  });
}

void ExecutorRegistry::take_all(const ExecutorsAnswer& answer) {
  std::map<GroupId, std::set<std::string>> stored;
  for (const ExecutorGroup& group : answer.groups) {
    stored[group.group];
    if (!executors_.has(group.group) || executors_.token(group.group) != group.token) {
      executors_.put_group(group);
      on_change_(group.group, {});
    }
  }
  for (const ExecutorRow& row : answer.executors) {
    stored[row.group].insert(row.address);
    const ExecutorRow* known = executors_.find(row.group, row.address);
    if (known == nullptr || *known != row) put(row);
  }
  for (const auto& [group, addresses] : stored) {
    std::vector<std::string> gone;
    for (const auto& [address, row] : executors_.members(group)) {
      if (!addresses.contains(address)) gone.push_back(address);
    }
    for (const std::string& address : gone) remove(group, address);
  }
  for (const GroupId group : executors_.groups()) {
    if (!stored.contains(group)) forget(group);
  }
}

}  // namespace carillon::jobtracker
