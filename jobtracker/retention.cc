#include "jobtracker/retention.h"

#include <algorithm>
#include <utility>

#include "jobtracker/state/id_source.h"

namespace carillon::jobtracker {

Retention::Retention(RetentionConfig config, const Ownership& ownership, Batcher& batcher,
                     const SchedulingClock& clock, std::function<std::int64_t()> ended)
    : config_(config),
      ownership_(ownership),
      batcher_(batcher),
      clock_(clock),
      ended_(std::move(ended)) {}

void Retention::run_once() {
  if (!is_at_it_ && ownership_.owned().test(0)) step(kRowsLeast);
}

void Retention::step(std::int64_t rows_max) {
  is_at_it_ = true;
  const WallTime now = clock_.now();
  batcher_.post(
      Urgency::kHousekeeping,
      Purge{.log_before = now - config_.log,
            .clients_before = now - config_.clients,
            .counts_before = now - config_.counts,
            .audit_before = IdSource::first_of(now - config_.audit),
            .figures_before = now - config_.figures,
            .limit = rows_max},
      [this, rows_max, ended_before = ended_()](Operation&, const Outcome& outcome, const Error*) {
        is_at_it_ = false;
        if (outcome.count < rows_max) return;
        const auto trackers = static_cast<std::int64_t>(ownership_.trackers());
        const std::int64_t ended = trackers * (ended_() - ended_before);
        step(std::clamp(2 * ended, kRowsLeast, kRowsMost));
      });
}

}  // namespace carillon::jobtracker
