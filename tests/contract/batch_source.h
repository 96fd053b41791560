#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "jobtracker/store/batch.h"
#include "jobtracker/store/group_split.h"
#include "jobtracker/store/memory_tables.h"
#include "shared/base/random.h"

namespace carillon::jobtracker {

// "task 0" and so on: few, so that they are often taken. Some are spelt a little differently, and
// are others.
inline constexpr int kDrawnTaskIds = 120;
inline constexpr int kSpellings = 3;
std::string drawn_task_id(int number, int spelling);
inline constexpr const char* kDrawnClientGroups[] = {"billing", "mail", "shop-2"};

// Draws batches, of every kind of operation, from a seed. It remembers what it has seen of jobs and
// definitions, never what became of them, so that many of its wishes conflict.
class BatchSource {
 public:
  BatchSource(std::uint64_t seed, const std::vector<Group>& groups);

  // But for its number.
  Batch next();
  // One that no store may take.
  Batch next_invalid();
  // What is done, of what is stored, by who has read it.
  Batch next_of(std::vector<Operation> operations);
  // Of one of the groups that were made. Whoever does it tells what it came to.
  GroupSplit next_split();
  void note_split(const SplitPlan& plan);
  void note_group(const Group& group);
  // The batches to come end or delete the oldest of what is too much, so that no table grows for
  // ever.
  void keep_small(const MemoryTables& stored);

  std::uint64_t below(std::uint64_t bound) { return random_.next() % bound; }
  bool chance(std::uint64_t percent) { return below(100) < percent; }
  WallTime now() const { return now_; }
  // The youngest that it knows of, at most so many.
  std::vector<WaitingJob> youngest_jobs(std::size_t count) const;

 private:
  using Operations = std::vector<Operation>;
  struct Kind {
    std::uint64_t share;  // how often, compared with the others
    void (BatchSource::*draw)(Operations& to);
  };
  static const Kind kKinds[];

  std::int64_t number_below(std::uint64_t bound) { return static_cast<std::int64_t>(below(bound)); }
  std::string task_id();
  std::string address();
  std::string bytes(std::uint64_t size_max);
  GroupId group() { return groups_[below(groups_.size())]; }
  WallTime time();
  WallTime earlier();  // by hours at most
  // Mostly one of the younger: the others have long ended.
  template <class T>
  T& any(std::vector<T>& seen) {
    return seen[seen.size() - 1 - below(std::min<std::uint64_t>(seen.size(), 150))];
  }

  WaitingJob new_job();
  WaitingJob new_occurrence(const Definition& definition);
  Definition new_definition();
  LogEntry new_log(const WaitingJob& job);
  // Those of a map that are too many, the oldest first.
  template <class Map, class Make>
  void leave(const Map& map, std::size_t kept, const Make& make);
  // Cuts the operations into ranges, most of them requests, some of them resent.
  void add_requests(Batch& batch);

  void add_job(Operations& to);
  void claim(Operations& to);
  void end(Operations& to);
  void change_waiting(Operations& to);
  void add_definition(Operations& to);
  void change_definition(Operations& to);
  void remove_definition(Operations& to);
  void cancel_executing(Operations& to);
  void add_output(Operations& to);
  void put_node(Operations& to);
  void remove_feedback(Operations& to);
  void remove_inbox(Operations& to);
  void remove_alarm(Operations& to);
  void put_script(Operations& to);
  void put_executor_group(Operations& to);
  void remove_executor_group(Operations& to);
  void change_executor(Operations& to);
  void put_push_run(Operations& to);
  void remove_push_run(Operations& to);
  void put_route(Operations& to);
  void put_executor_result(Operations& to);
  void remove_executor_result(Operations& to);
  void add_log(Operations& to);
  void purge(Operations& to);
  void clean_log(Operations& to);
  void index_log(Operations& to);
  AuditRow new_audit();
  void add_audit(Operations& to);
  void put_principal(Operations& to);
  void remove_principal(Operations& to);
  void put_figures(Operations& to);
  void put_alarm_history(Operations& to);
  void put_silence(Operations& to);

  SeededRandom random_;
  WallTime now_{};
  std::int64_t last_id_ = 0;
  std::int32_t last_definition_ = 0;
  std::vector<std::string> names_{};  // of the groups that were made
  std::vector<GroupId> groups_{};
  // None of these is ever empty: they begin with one that is stored nowhere.
  std::vector<WaitingJob> jobs_{};
  std::vector<Definition> definitions_{};
  std::vector<std::int64_t> relayed_{0};
  std::vector<std::int64_t> logs_{0};
  std::vector<std::pair<std::string, std::int64_t>> feedback_{{kDrawnClientGroups[0], 0}};
  std::map<std::int64_t, std::int64_t> sequences_{};
  std::deque<Operation> leaving_{};
};

}  // namespace carillon::jobtracker
