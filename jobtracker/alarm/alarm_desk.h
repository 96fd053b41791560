#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "jobtracker/alarm/alarm_rule.h"
#include "jobtracker/alarm/group_watch.h"
#include "jobtracker/state/alarm_sink.h"
#include "jobtracker/state/catalog.h"
#include "jobtracker/state/id_source.h"
#include "jobtracker/state/ownership.h"
#include "jobtracker/state/scheduling_clock.h"
#include "jobtracker/store/batcher.h"
#include "jobtracker/store/reads.h"
#include "shared/base/sizes.h"
#include "shared/net/courier.h"
#include "shared/wire/alarm_message.h"

namespace carillon::jobtracker {

// Jobs that a message has a line for; the failures of all others are one number.
inline constexpr std::size_t kAlarmLines = 20;

struct AlarmConfig {
  std::vector<std::string> recipients{};  // of node groups, and of jobs that name none
  std::vector<AlarmRule> rules{};         // when node groups are told of
  // Between two messages of a node group to a recipient.
  Duration interval = std::chrono::minutes{1};
  Duration gather = std::chrono::seconds{2};  // from the first failure to its message
  // After a delivery that failed, doubled each time up to the most.
  Duration retry_least = std::chrono::seconds{5};
  Duration retry_most = std::chrono::minutes{5};
  Duration give_up = std::chrono::hours{72};  // from the last failure in it
  std::size_t messages_max = 1'000;           // that wait

  Status validate() const;
};

// Tells people of jobs that have failed for good, and of node groups that are not as they should
// be. What is to be told of failures is in the store, written with the ends themselves; here is
// what the messages say, and when the next one goes to whom. Of node groups nothing is stored: the
// next session of the process is given what was told and what is not yet, another process tells
// anew what still is so.
//
// A message is of one node group, with all its parts, for one recipient. It gathers until it is
// first sent; what comes then is for the next one.
//
// Thread: the loop.
class AlarmDesk final : public AlarmSink {
  struct Line {
    AlarmRow row{};
    // Of its job, which may be gone when the message is sent, as far as it failed in this session.
    std::string description{};
    std::string owner{};
  };
  struct Message {
    std::int64_t id = 0;
    std::vector<wire::AlarmCondition> conditions{};
    WallTime last{};             // of what it tells
    std::vector<Line> lines{};   // by line; after kAlarmLines one for all other jobs
    std::int64_t unsettled = 0;  // failures on their way to the store
    bool is_closed = false;      // no more are added
  };
  struct Channel {
    std::deque<Message> messages{};
    SteadyTime not_before{};  // of the next delivery
    Duration wait{};          // after the last one, which failed; 0: it did not
    bool is_sending = false;
  };
  using Key = std::pair<GroupId, std::string>;  // the whole group, and the recipient

 public:
  AlarmDesk(AlarmConfig config, Catalog& catalog, const Ownership& ownership,
            const Workers& workers, const Executors& executors, const ExecutorSilence& silence,
            Questions& questions, Batcher& batcher, IdSource& ids, SchedulingClock& clock,
            const Logger& log);
  ~AlarmDesk() override;

  // What no store knows.
  struct Memory {
    std::map<Key, Channel> channels{};
    GroupWatch::Memory watch{};
  };
  // For the next session of the process, when nothing is under way to the store any more.
  Memory take_memory();
  // Before start().
  void go_on_from(Memory memory);

  // Without one nobody is told.
  void set_courier(net::Courier& courier);
  void leave_courier();
  void start(const StartAnswer& found);
  void run_once();

  void ran(GroupId group, bool has_failed) { watch_.count(group, has_failed); }
  bool watches_output(GroupId group) const { return watch_.watches_output(group); }
  void wrote(GroupId group, const std::string& task_id, const OutputRow& output) {
    watch_.wrote(group, task_id, output);
  }
  void address(LogEntry& entry, const WaitingJob& job) override;
  void settled(const LogEntry& entry) override;
  bool can_tell(const JobSpec& job) const override;

  std::int64_t waiting() const { return static_cast<std::int64_t>(messages_); }
  std::int64_t sent() const { return sent_; }
  std::int64_t failed() const { return failed_; }
  std::int64_t dropped() const { return dropped_; }
  Sizes sizes() const;

 private:
  Key key_of(GroupId part, const std::string& recipient) const;
  std::vector<std::string> recipients_of(const WaitingJob& job) const;
  bool can_be_told(const std::string& recipient);
  void tell(GroupId group, const wire::AlarmCondition& condition);
  Message* open_message(const Key& key, WallTime now);
  Message& found_message(Channel& channel, std::int64_t id);
  static Line& line_for(Message& message, const LogEntry& entry);
  void send(const Key& key, Channel& channel);
  void on_delivered(std::uint64_t id, const Status& status);
  void remove_first(Channel& channel);
  wire::AlarmMessage content_of(const Message& message, GroupId group);

  const AlarmConfig config_;
  Catalog& catalog_;
  const Ownership& ownership_;
  Batcher& batcher_;
  IdSource& ids_;
  SchedulingClock& clock_;
  const Logger& log_;
  net::Courier* courier_ = nullptr;
  GroupWatch watch_;
  std::map<Key, Channel> channels_;
  std::size_t messages_ = 0;
  bool was_full_ = false;      // and that was said
  bool said_no_mail_ = false;  // that there is no mail server
  std::int64_t sent_ = 0;
  std::int64_t failed_ = 0;
  std::int64_t dropped_ = 0;
  Memory before_{};  // until start()
};

}  // namespace carillon::jobtracker
