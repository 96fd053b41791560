#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/job_spec.h"
#include "carillon/result.h"
#include "jobtracker/state/client_link.h"
#include "jobtracker/state/id_source.h"
#include "jobtracker/state/scheduling_clock.h"
#include "jobtracker/store/batcher.h"

namespace carillon::jobtracker {

// The change that a row is about.
struct AuditedChange {
  std::string action{};
  std::string group{};
  std::string task_id{};
  std::string before{};  // a JSON object; empty: none
  std::string after{};
};

// Records who changed what. A change's row is in the change's transaction. Refused attempts are
// recorded at a bounded rate, so that a client cannot fill the store with them.
//
// Thread: the loop.
class Auditor {
 public:
  // Most recorded refusals a minute.
  static constexpr int kRefusedMax = 100;

  Auditor(Batcher& batcher, IdSource& ids, const SchedulingClock& clock)
      : batcher_(batcher), ids_(ids), clock_(clock) {}

  // For NumberedRequest::audit or an AddAudit in the unit of the change.
  AuditRow row(const Asker& asker, AuditedChange change);
  // For a change without a unit in the batcher.
  void add(const Asker& asker, AuditedChange change);
  // An attempt that the asker may not make, or that is invalid.
  void refused(const Asker& asker, AuditedChange change, const Error& why);

 private:
  void post(AuditRow row);

  Batcher& batcher_;
  IdSource& ids_;
  const SchedulingClock& clock_;
  WallTime minute_{};      // of the counts below
  int refused_ = 0;        // recorded in this minute
  std::int64_t more_ = 0;  // not recorded in this minute
};

// The name of an action.
const char* action_of(wire::Verb verb);

// A submission. One row a message: one with a single job names the job and has its fields.
AuditedChange audited_jobs(const std::vector<JobSpec>& jobs);

// A job as JSON for an audit row: with passwords masked, and long texts replaced by their length.
std::string audited_spec(JobSpec spec);

}  // namespace carillon::jobtracker
