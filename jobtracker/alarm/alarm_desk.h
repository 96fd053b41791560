#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "jobtracker/alarm/alarm_rule.h"
#include "jobtracker/alarm/group_watch.h"
#include "jobtracker/alarm/silences.h"
#include "jobtracker/state/alarm_sink.h"
#include "jobtracker/state/alarm_view.h"
#include "jobtracker/state/catalog.h"
#include "jobtracker/state/client_link.h"
#include "jobtracker/state/id_source.h"
#include "jobtracker/state/ownership.h"
#include "jobtracker/state/scheduling_clock.h"
#include "jobtracker/store/batcher.h"
#include "jobtracker/store/reads.h"
#include "shared/base/sizes.h"
#include "shared/net/courier.h"
#include "shared/wire/alarm_message.h"

namespace carillon::jobtracker {

// Most jobs that a message lists one by one; it sums up the failures of all others.
inline constexpr std::size_t kAlarmLines = 20;

// The recipient as everybody may see it: the part of a URL after the host may be a secret.
std::string shown_recipient(const std::string& recipient);

struct AlarmConfig {
  std::vector<std::string> recipients{};  // for node groups, and for jobs that name no recipient
  std::vector<AlarmRule> rules{};         // when to send alarms about node groups
  // Least time between two messages about a node group to a recipient.
  Duration interval = std::chrono::minutes{1};
  Duration gather = std::chrono::seconds{2};  // from the first failure to its message
  // Wait after a failed delivery. It doubles up to retry_most.
  Duration retry_least = std::chrono::seconds{5};
  Duration retry_most = std::chrono::minutes{5};
  Duration give_up = std::chrono::hours{72};  // since the last failure in the message
  std::size_t messages_max = 1'000;           // most undelivered messages

  Status validate() const;
};

// Sends alarms about jobs that failed for good, and about node groups in a bad state. The store
// keeps the failures of undelivered alarms, written with the ends of their jobs. This class builds
// the messages and schedules their delivery. Alarms about node groups are not stored: the next
// session of the process inherits their state, a new process reports every condition again that
// still holds.
//
// A message is about one node group, with all its partitions, for one recipient. It collects
// failures until it is first sent; later ones go into the next message. What became of it is stored
// in the history.
//
// While a node group is silenced, no message about it is sent, and failures are not collected. When
// the silence ends, conditions that still hold are sent.
//
// Thread: the loop.
class AlarmDesk final : public AlarmSink {
  struct Line {
    AlarmRow row{};
    // Description of its job, for failures of this session: the job may be removed before the
    // message is sent.
    std::string description{};
    std::string owner{};
  };
  struct Message {
    std::int64_t id = 0;
    std::vector<wire::AlarmCondition> conditions{};
    WallTime last{};             // time of the newest failure in the line
    std::vector<Line> lines{};   // by line; after kAlarmLines one for all other jobs
    std::int64_t unsettled = 0;  // failures whose rows are being stored
    bool is_closed = false;      // takes no more failures
    bool has_failed = false;     // and the history has it
  };
  struct Channel {
    std::deque<Message> messages{};
    SteadyTime not_before{};  // earliest time of the next delivery
    Duration wait{};          // wait after the last delivery; 0 unless it failed
    bool is_sending = false;
  };
  using Key = std::pair<GroupId, std::string>;  // the whole group, and the recipient

 public:
  AlarmDesk(AlarmConfig config, Catalog& catalog, const Ownership& ownership,
            const Workers& workers, const Executors& executors, const ExecutorSilence& silence,
            Questions& questions, Batcher& batcher, IdSource& ids, SchedulingClock& clock,
            const Logger& log);
  ~AlarmDesk() override;

  // State that is not in the store.
  struct Memory {
    std::map<Key, Channel> channels{};
    GroupWatch::Memory watch{};
  };
  // For the next session of the process. Requires: no store operation is in progress.
  Memory take_memory();
  // Requires: start() was not called.
  void go_on_from(Memory memory);

  // Without a courier no alarm is sent.
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

  // The alarms about node groups that are on, with silenced groups, and the rules for them.
  std::vector<FiringAlarm> firing() const;
  std::vector<AlarmRuleText> rules() const;
  Silences& silences() { return silences_; }

  // Sends a test message. `done` gets what became of it. A request that was sent again is ignored.
  // Errors: kInvalidArgument for a recipient that cannot get messages, kDenied for an address that
  // is never called, kConflict if the message was not delivered.
  using OnTested = std::function<void(const Status& status)>;
  void test(const Asker& asker, const std::string& recipient, OnTested done);

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
  void record(const Key& key, const Message& message, const Status& status);
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
  Silences silences_;
  struct Test {
    Asker asker{};
    std::string recipient{};
    OnTested done{};
  };
  std::map<std::uint64_t, Test> tests_;  // under way, by the id of the message
  std::map<Key, Channel> channels_;
  std::size_t messages_ = 0;
  bool was_full_ = false;      // and it was logged
  bool said_no_mail_ = false;  // logged that there is no mail server
  std::int64_t sent_ = 0;
  std::int64_t failed_ = 0;
  std::int64_t dropped_ = 0;
  Memory before_{};  // used until start()
};

}  // namespace carillon::jobtracker
