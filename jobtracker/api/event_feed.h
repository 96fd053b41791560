#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "carillon/time.h"
#include "jobtracker/api/exchange.h"
#include "jobtracker/api/gateway.h"
#include "jobtracker/api/json_rows.h"
#include "shared/base/principal.h"
#include "shared/net/http/http_server.h"

namespace carillon::jobtracker::api {

// Tells subscribers what happens in the whole cluster: ends of runs and changes of jobs from the
// store, and starts of runs, nodes and counters from the job trackers. It looks each second while
// somebody subscribes.
//
// Events of the store have its sequence as their id, so a subscriber resumes after the last one
// that it has. Of more than kEventsOfLook events between two looks the oldest are left out.
//
// Thread: the gateway's.
class EventFeed {
 public:
  static constexpr std::size_t kSubscribersMax = 512;
  static constexpr std::size_t kSubscribersOfPrincipalMax = 64;
  static constexpr std::int64_t kEventsOfLook = 400;

  // `gateway` must outlive it.
  EventFeed(Gateway& gateway, IsStillSender is_still_sender)
      : gateway_(gateway), is_still_sender_(std::move(is_still_sender)) {}

  struct Subscriber {
    Principal principal{};
    net::HttpCall head{};  // of its call
    std::string group{};   // empty: all that the principal covers
    net::HttpStream stream;
    std::int64_t after = 0;  // the last event that it has; 0: it wants new ones only
  };
  // Error: kLimit.
  Status check_room(const Principal& principal) const;
  void add(Subscriber subscriber);
  std::size_t subscribers() const { return subscribers_.size(); }

 private:
  struct Event {
    std::int64_t id = 0;  // 0: not of the store
    std::string type{};
    std::string group{};  // empty: for all
    Json data{};
  };
  struct Entry {
    Subscriber subscriber;
    SteadyTime written_at{};
  };
  using OnRows = void (EventFeed::*)(const std::vector<wire::Row>&);

  void look();
  void look_later();
  // All pages.
  void ask(wire::Query query, OnRows on_rows, std::vector<wire::Row> found = {});
  void ask_past(std::int64_t after);
  void on_store_events(const std::vector<wire::Row>& rows);
  void tell_short_start(const wire::Row& ended);
  void on_executing(const std::vector<wire::Row>& rows);
  void on_nodes(const std::vector<wire::Row>& rows);
  void on_groups(const std::vector<wire::Row>& rows);
  void tell(Event event);
  static std::string text_of_event(const Event& event);
  bool may_see(const Subscriber& subscriber, const Event& event) const;
  void write(Entry& entry, const Event& event, SteadyTime now);
  void drop_closed();
  void drop_unknown();
  void keep_alive();
  void forget_old_ids();

  Gateway& gateway_;
  const IsStillSender is_still_sender_;
  std::list<Entry> subscribers_;
  bool is_looking_ = false;
  std::int64_t looks_ = 0;
  WallTime seen_until_{};                       // events before it were told
  std::set<std::int64_t> told_{};               // ids around that time
  std::map<std::string, std::string> nodes_{};  // states, by group, name and address
  bool knows_nodes_ = false;
  std::set<std::pair<std::string, std::int64_t>> executing_{};  // job ids and attempts
  std::set<std::pair<std::string, std::int64_t>> executed_{};   // those of the look before
  bool knows_executing_ = false;
  Json last_counters_{};
};

}  // namespace carillon::jobtracker::api
