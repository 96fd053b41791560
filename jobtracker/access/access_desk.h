#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "jobtracker/access/access_registry.h"
#include "jobtracker/audit/auditor.h"
#include "jobtracker/state/client_link.h"
#include "jobtracker/state/scheduling_clock.h"
#include "jobtracker/store/batcher.h"
#include "shared/base/sizes.h"

namespace carillon::jobtracker {

// Access control of requests: who sent one, and whether it may. Adds, changes and removes the
// principals of the store.
//
// Thread: the loop.
class AccessDesk {
 public:
  // `client`: the client number of its requests, which no one else uses.
  AccessDesk(Batcher& batcher, Questions& questions, Auditor& auditor, ClientLink& clients,
             std::int64_t client, const SchedulingClock& clock);

  // The registry of the process. Call before start().
  void use(AccessRegistry& registry) { registry_ = &registry; }
  // The URL of the console, for `whoami`. Call before start().
  void set_console(std::string url) { console_ = std::move(url); }
  // Called with the principals of connections that must end, as in net::Sender.
  void on_revoked(std::function<void(const std::string& principal)> revoked) {
    revoked_ = std::move(revoked);
  }

  // Called every AccessRegistry::kPeriod. Reads the principals again if other job trackers may have
  // changed them.
  void run_once(bool is_shared);
  // Reads the principals of the store.
  void refresh() {
    refresh([] {});
  }

  // The sender of a request. `sender`: its connection's principal, as in net::Sender; empty: access
  // is not controlled. Error: kDenied for a principal that was removed, and for a request on behalf
  // of another principal from a connection that may not send such.
  Result<std::shared_ptr<const Caller>> caller_of(const std::string& sender,
                                                  const std::string& address, bool is_internal,
                                                  const std::optional<wire::OnBehalf>& on_behalf);
  // Whether it may send the message. Refused changes are recorded.
  Status check(const Asker& asker, const wire::Message& message);

  void put(const Asker& asker, wire::PutPrincipal message);
  void remove(const Asker& asker, const wire::RemovePrincipal& message);
  // The answers to the queries whoami and principals. `apps`: the executor groups with an access
  // token.
  void whoami(const Asker& asker);
  void list(const Asker& asker, const std::vector<std::string>& apps);

  Sizes sizes() const { return {{"callers", callers_.size()}}; }

 private:
  struct Known {
    std::shared_ptr<const Caller> caller{};
    std::uint64_t version = 0;  // of the registry
  };

  void refresh(std::function<void()> then);
  bool is_old(const PrincipalRow& row) const;
  void remove_old(const std::vector<PrincipalRow>& rows);
  Result<Principal> principal_of(const std::string& sender) const;
  void post(const Asker& asker, Operation operation, AuditedChange change, std::string done,
            Error otherwise);
  void answer(const Asker& asker, wire::Message message);
  void refuse(const Asker& asker, AuditedChange change, const Error& why);
  static Error already_exists(const std::string& kind, const std::string& name);
  void end_connections_of(const std::vector<PrincipalRow>& rows);

  Batcher& batcher_;
  Questions& questions_;
  Auditor& auditor_;
  ClientLink& clients_;
  const std::int64_t client_;
  std::int64_t sequence_ = 0;
  std::set<Asker> under_way_;  // changes that are being stored
  const SchedulingClock& clock_;
  std::string console_;
  AccessRegistry own_;  // unless the process has one
  AccessRegistry* registry_ = &own_;
  std::function<void(const std::string& principal)> revoked_ = [](const std::string&) {};
  std::map<std::pair<std::string, std::string>, Known> callers_;  // by principal and address
};

// Removes the rows of node groups that the principal does not cover. Rows without a node group
// stay.
void leave_out_foreign_rows(const Principal& principal, wire::Rows& rows);

}  // namespace carillon::jobtracker
