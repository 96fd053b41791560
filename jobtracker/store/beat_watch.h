#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "carillon/ids.h"
#include "carillon/time.h"
#include "shared/base/sizes.h"

namespace carillon::jobtracker {

// A job tracker's beat is raised so often, and looked for so often by who stands by: more often, so
// that one that ends is followed soon.
inline constexpr Duration kBeat = std::chrono::milliseconds{400};
inline constexpr Duration kLook = std::chrono::milliseconds{100};
// While partitions are about to change hands.
inline constexpr Duration kLookSoon = std::chrono::milliseconds{3};
// Who was not confirmed for so long hands out nothing, since others may take it for silent. They
// may wait longer, each as it likes: that forgives processes and machines that stand still.
inline constexpr Duration kSilence = std::chrono::milliseconds{1500};
// Two answers that lie further apart say nothing of what was between them.
inline constexpr Duration kLookGapMax = std::chrono::seconds{1};

// What a lane of a session last wrote of itself.
struct SessionBeat {
  SessionId session{};
  std::int32_t lane = 0;
  std::string name{};  // of the job tracker
  std::int64_t batch = 0;
  WallTime at{};  // of that batch; only ever compared for equality

  bool operator==(const SessionBeat&) const = default;
};

// Tells which sessions are silent: their beats have not changed for a while of our own steady
// clock. Each look must be answered: when two answers lie far apart, because the database or this
// process stood still, the time between them does not count, and who was as quiet before has
// kSilence from then on to show that it works, for it may have stood still likewise.
//
// Thread: the owner's. Pure.
class BeatWatch {
 public:
  // `silence`: for so long; kSilence at least.
  explicit BeatWatch(Duration silence = kSilence) : silence_(silence) {}

  // All lanes of the sessions that have not ended, as an answer showed them.
  void saw(const std::vector<SessionBeat>& beats, SteadyTime asked, SteadyTime answered);

  // Every session that was seen last is silent; true if there is none.
  bool are_all_silent() const;
  // Of each session it is known whether it works or is silent.
  bool is_settled() const;
  bool is_silent(SessionId session) const;
  // Those of which it is not known yet, each by its first lane.
  std::vector<SessionBeat> quiet() const;
  // Of the silent ones, as they were seen last.
  std::vector<SessionBeat> silent_beats() const;
  // A session whose beat was seen to change, or that came while we watched, and that is not silent;
  // null: none.
  const SessionBeat* working() const;
  Sizes sizes() const { return {{"sessions", sessions_.size()}}; }

 private:
  struct Watched {
    std::vector<SessionBeat> beats{};
    SteadyTime since{};  // as they are; what did not count is left out
    bool is_silent = false;
    bool has_changed = false;
  };

  SteadyTime after_gap(SteadyTime since, SteadyTime answered) const;

  Duration silence_;
  std::map<SessionId, Watched> sessions_{};
  bool has_seen_ = false;
  SteadyTime answered_{};  // last
};

}  // namespace carillon::jobtracker
