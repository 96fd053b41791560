#pragma once

#include <array>
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <variant>

#include "jobtracker/store/batch.h"
#include "jobtracker/store/reads.h"

namespace carillon::jobtracker {

// What happens to the stores that are compared, beside batches and reads.
enum class Event : std::uint8_t {
  // Of sessions. Those up to kHeartbeatRaised need others beside them.
  kBegunBesideOthers,
  kTakenPlace,  // of one that went on until then
  kTakenPlaceOfFenced,
  kSilentFenced,
  kSilentWorked,  // who was to be fenced has written meanwhile
  kPartitionsTaken,
  kPartitionsLeft,
  kInboxOfOthers,  // a session is shown nothing of what waits for another
  kHeartbeatRaised,
  kBeatOfNobody,
  kBegunAlone,
  kBegunAgain,  // the first time the answer was lost
  kEnded,
  kDied,
  kLooked,
  kSplit,
  kSplitRefused,
  kGroupMade,
  kInboxTaken,
  kResultsTaken,
  // Of commits.
  kCommitted,
  kAnswerLost,
  kNeverArrived,
  kConnectionLost,
  kInvalidRefused,
  kNumberRefused,
  kFencedRefused,
  kFencedUnsettled,
  kFencedSplitRefused,
  kFencedRead,
  kSettled,
  // Of the comparison.
  kRowsCompared,
  kReadsCompared,
};
inline constexpr std::size_t kEvents = static_cast<std::size_t>(Event::kReadsCompared) + 1;

// "AddJob", for people.
std::string kind_of(const Operation& operation);

// How often what was met. Fails a test when something never was.
class Distribution {
 public:
  // `is_shared`: several sessions worked side by side.
  explicit Distribution(bool is_shared) : is_shared_(is_shared) {}

  void note(const Operation& operation, const Outcome& outcome);
  // `says`: there was something in the answer.
  void note(const Read& question, bool says);
  void note(Event event, std::int64_t count = 1) {
    events_.at(static_cast<std::size_t>(event)) += count;
  }

  std::int64_t operations() const { return operations_; }
  void expect_all() const;
  void print(std::ostream& out) const;

 private:
  struct OfOperation {
    std::int64_t done = 0;
    std::int64_t conflicts = 0;  // or taken
    std::int64_t answered = 0;
  };
  struct OfRead {
    std::int64_t asked = 0;
    std::int64_t said = 0;
  };

  const bool is_shared_;
  std::int64_t operations_ = 0;
  std::array<OfOperation, std::variant_size_v<Operation>> of_operations_{};
  std::array<OfRead, std::variant_size_v<Read>> of_reads_{};
  std::array<std::int64_t, kEvents> events_{};
};

}  // namespace carillon::jobtracker
