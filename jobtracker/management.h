#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "jobtracker/state/catalog.h"
#include "jobtracker/state/client_link.h"
#include "jobtracker/state/executor_requests.h"
#include "jobtracker/state/ownership.h"
#include "shared/base/sizes.h"
#include "shared/wire/messages.h"

namespace carillon::jobtracker {

// Executes xxl-job management calls of executors (addJob and others) as requests of a job client.
// The job with number 17 is the task "xxl-17" of the app's group, as after an import from xxl-job.
// Executors manage the pushed jobs of their own app; other jobs of its group do not exist for them.
//
// Thread: the loop.
class Management {
 public:
  // `client`: the client number of its requests. `route` processes them; their answers go to
  // hear().
  Management(Catalog& catalog, const Ownership& ownership, std::int64_t client,
             std::function<void(const Asker&, wire::Message)> route);

  void take(const ManageJob& call, OnManaged done);

  // An answer to one of its requests.
  void hear(const Asker& asker, wire::Message answer);
  Sizes sizes() const { return {{"asked", asked_.size()}}; }

 private:
  using OnAnswer = std::function<void(wire::Message)>;

  void add(const ManageJob& call, OnManaged done);
  void update(const ManageJob& call, const ActiveDefinition& definition, OnManaged done);
  void submit(const ManageJob& call, JobSpec spec, bool suspended, std::string text,
              OnManaged done);
  void act(const ManageJob& call, wire::Act message, OnManaged done);
  Result<std::int32_t> free_number();
  Result<const ActiveDefinition*> find(const ManageJob& call);
  bool knows_all_jobs_of(const std::string& app_name) const;
  void ask(const ManageJob& call, wire::Message message, OnAnswer on_answer);
  wire::RequestNumber next_number() { return {.client = client_, .sequence = ++sequence_}; }

  Catalog& catalog_;
  const Ownership& ownership_;
  const std::int64_t client_;
  const std::function<void(const Asker&, wire::Message)> route_;
  std::int64_t sequence_ = 0;
  std::int32_t last_number_ = 0;  // the last number given to a job
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, OnAnswer> asked_;
};

}  // namespace carillon::jobtracker
