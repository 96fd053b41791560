#pragma once

#include <array>
#include <map>
#include <set>
#include <string>

#include "jobtracker/store/batch.h"
#include "jobtracker/store/memory_tables.h"
#include "tests/sim/broken.h"
#include "tests/sim/ledger.h"
#include "tests/sim/timeline.h"

namespace carillon::sim {

// Which session owns which partition, where several job trackers share a database: as each
// session's beginning says. Nobody takes from one who was not silent for its time, nobody acts on
// what is another's, and who was fenced says nothing that only an owner may say.
//
// Thread: the simulation's.
class Owners {
 public:
  Owners(const Timeline& timeline, const jobtracker::MemoryTables& tables, const Ledger& ledger,
         Broken broken)
      : timeline_(timeline), tables_(tables), ledger_(ledger), broken_(std::move(broken)) {}

  // `before`: the session of the same process whose place this one takes; 0: none.
  void begun(const std::string& name, SessionId session, SessionId before,
             const jobtracker::Partitions& owned);
  void ended(SessionId session) { ended_.insert(session); }
  // It was heard of in the database.
  void beat(SessionId session) { last_word_[session] = timeline_.now(); }
  // The database is away, for everybody, until then.
  void database_is_back(SteadyTime at) { back_at_ = at; }
  void committed(const std::string& name, SessionId session, const jobtracker::Batch& batch,
                 const jobtracker::Committed& done);

  bool owns(SessionId session, GroupId group) const;
  // Nobody took anything from it, nor its place.
  bool works(SessionId session) const { return last_word_.contains(session); }
  const std::array<SessionId, jobtracker::kPartitions>& all() const { return owners_; }
  // No owner of the partition ran then, before the one that it has.
  const DeadTimes& dead_times() const { return dead_times_; }

 private:
  struct Actor {
    const std::string& name;
    SessionId session{};
  };

  void acts(const Actor& actor, GroupId group, const std::string& what) const;
  void check(const Actor& actor, const jobtracker::Operation& operation) const;

  const Timeline& timeline_;
  const jobtracker::MemoryTables& tables_;
  const Ledger& ledger_;
  const Broken broken_;
  std::array<SessionId, jobtracker::kPartitions> owners_{};
  std::map<SessionId, SteadyTime> last_word_;  // of those that nobody has fenced
  std::set<SessionId> ended_;
  SteadyTime back_at_{};
  std::map<SessionId, WallTime> last_commit_;
  DeadTimes dead_times_{};
};

}  // namespace carillon::sim
