#pragma once

#include <memory>
#include <optional>
#include <string>

#include "carillon/result.h"
#include "jobtracker/access/access_registry.h"
#include "jobtracker/api/sign_in_config.h"

namespace carillon::jobtracker {

// The secret key that signs cookies. The store keeps it, so that all job trackers have the same
// one, also after a restart. The first job tracker that needs it makes it.
//
// Thread: any, unless a member says otherwise.
class CookieKey {
 public:
  // The references must outlive it.
  CookieKey(const AccessRegistry& registry, const PrincipalDesk& desk);

  // None: there is none yet, or it was not read yet.
  std::optional<std::string> known() const;
  // Makes one if there is none. Does not wait.
  void prepare();
  // Makes one if there is none, and waits for it for a few seconds. Error: kUnavailable. Thread:
  // one that may wait.
  Result<std::string> wait();

 private:
  struct State;

  const AccessRegistry& registry_;
  const PrincipalDesk& desk_;
  // Shared with the desk's answer, which may come after the end of this object.
  const std::shared_ptr<State> state_;
};

}  // namespace carillon::jobtracker
