#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jobtracker/api/exchange.h"
#include "jobtracker/api/gateway.h"
#include "jobtracker/api/idempotency.h"
#include "jobtracker/api/json_rows.h"
#include "jobtracker/api/row_pages.h"
#include "shared/base/principal.h"

namespace carillon::jobtracker::api {

// A bulk action under way, or over: one act for each of many jobs or runs. It lives in the memory
// of the job tracker that was asked, and ends with it; what was done stays done.
struct Operation {
  struct Target {
    std::string group{};
    std::string task_id{};
    JobId job_id{};
  };
  struct Failure {
    Target target{};
    std::string detail{};
  };

  std::string id{};
  std::string action{};
  Principal principal{};
  net::HttpCall head{};  // of the call that started it
  WallTime created_at{};
  std::optional<CallKey> key{};
  // What is done with a target: `then` gets what became of it.
  std::function<void(Operation& operation, const Target& target, std::function<void(Status)> then)>
      act{};
  std::function<void(const Operation& operation)> on_over{};  // not set: nobody waits for the end

  std::deque<Target> targets{};  // still to be done
  // Where they come from; without queries: nowhere. All are listed before the first act, as acts
  // change what a list finds: a job that is replaced comes again.
  RowList source{};
  std::string after{};
  int phase = 0;
  bool is_listing = false;

  std::int64_t total = 0;  // found so far
  std::int64_t done = 0;
  std::int64_t failed = 0;
  int under_way = 0;
  bool is_stopped = false;
  bool is_over = false;
  SteadyTime over_at{};
  std::vector<Failure> failures{};  // the first ones

  Json to_json() const;
};

// Runs bulk actions.
//
// Thread: the gateway's.
class Operations {
 public:
  static constexpr std::size_t kOperationsMax = 100;  // under way or over
  static constexpr std::size_t kFailuresShown = 1000;
  static constexpr std::size_t kTargetsMax = 200'000;  // that wait, of all operations
  static constexpr int kUnderWayMax = 8;               // acts of one operation
  static constexpr Duration kKept = std::chrono::hours{1};

  // `gateway` must outlive it.
  Operations(Gateway& gateway, IsStillSender is_still_sender)
      : gateway_(gateway), is_still_sender_(std::move(is_still_sender)) {}

  using OperationPtr = std::shared_ptr<Operation>;
  // Error: kLimit.
  Result<OperationPtr> start(Operation operation);
  // The one that was started with this key.
  OperationPtr with_key(const CallKey& key) const;
  OperationPtr find(const std::string& id) const;
  // Newest first.
  std::vector<OperationPtr> all() const;

 private:
  void go_on(const OperationPtr& operation);
  void list_more(const OperationPtr& operation);
  void on_listed(const OperationPtr& operation, const wire::Rows& rows);
  bool may_go_on(Operation& operation) const;
  static void stop(Operation& operation, std::string why);
  void finish(const OperationPtr& operation, const Operation::Target& target, const Status& status);
  std::size_t targets() const;
  void forget_old();

  Gateway& gateway_;
  const IsStillSender is_still_sender_;
  std::map<std::string, OperationPtr> operations_;
};

}  // namespace carillon::jobtracker::api
