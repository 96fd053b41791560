#include "jobtracker/api/event_feed.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <utility>

#include "jobtracker/api/api.h"
#include "jobtracker/state/id_source.h"
#include "shared/base/time_text.h"

namespace carillon::jobtracker::api {
namespace {

constexpr Duration kLookPeriod = kSenderPeriod;
constexpr Duration kKeepAlivePeriod = std::chrono::seconds{15};
// Job trackers commit at different times, so ids do not become visible in their order.
constexpr Duration kLateEvents = std::chrono::seconds{5};
constexpr std::size_t kRowsOfLook = 10'000;  // nodes or node groups
constexpr std::int64_t kNodesEvery = 2;      // looks
// Counters are asked for each second, and more rarely when there are very many node groups.
constexpr std::size_t kGroupsOfEachLook = 1'000;
constexpr std::int64_t kCountersEvery = 5;

// It asks for all subscribers, and each gets what its principal covers.
wire::OnBehalf feed_principal() {
  return {.kind = "tracker", .name = "events", .role = to_string(Role::kViewer), .groups = {"*"}};
}

WallTime time_of_id(std::int64_t id) { return IdSource::at(IdSource::ms_of(id)); }

std::int64_t id_in(const wire::Row& row) {
  const std::string text = text_in(row, "id");
  std::int64_t id = 0;
  std::from_chars(text.data(), text.data() + text.size(), id);
  return id;
}

}  // namespace

Status EventFeed::check_room(const Principal& principal) const {
  const auto own =
      std::count_if(subscribers_.begin(), subscribers_.end(), [&principal](const Entry& entry) {
        const Principal& other = entry.subscriber.principal;
        return other.kind == principal.kind && other.name == principal.name;
      });
  if (static_cast<std::size_t>(own) >= kSubscribersOfPrincipalMax) {
    return Error{ErrorCode::kLimit,
                 principal.kind + " '" + principal.name + "' reads events with " +
                     std::to_string(kSubscribersOfPrincipalMax) + " clients already (close some)"};
  }
  if (subscribers_.size() < kSubscribersMax) return {};
  return Error{ErrorCode::kLimit,
               std::to_string(kSubscribersMax) + " clients read events already, try again later"};
}

void EventFeed::add(Subscriber subscriber) {
  const SteadyTime now = gateway_.clock().steady_now();
  const std::int64_t after = subscriber.after;
  subscribers_.push_back({std::move(subscriber), now});
  // Proxies pass on nothing before the first byte.
  (void)subscribers_.back().subscriber.stream.write(": events\nretry: 2000\n\n");
  if (after > 0) ask_past(after);
  if (is_looking_) return;
  is_looking_ = true;
  seen_until_ = gateway_.clock().wall_now();
  told_.clear();
  looks_ = 0;
  knows_nodes_ = false;
  knows_executing_ = false;
  last_counters_ = {};
  look();
}

// What a subscriber has missed.
void EventFeed::ask_past(std::int64_t after) {
  const WallTime since = time_of_id(after) - kLateEvents;
  gateway_.ask(
      feed_principal(),
      wire::Query{
          .what = "events", .since_us = since.time_since_epoch().count(), .limit = kEventsOfLook},
      [this, after, entry = &subscribers_.back()](const Result<wire::Message>& answer) {
        const auto* rows = answer.ok() ? std::get_if<wire::Rows>(&answer.value()) : nullptr;
        const auto found = std::find_if(subscribers_.begin(), subscribers_.end(),
                                        [&](const Entry& one) { return &one == entry; });
        if (rows == nullptr || found == subscribers_.end()) return;
        const SteadyTime now = gateway_.clock().steady_now();
        for (const wire::Row& row : rows->rows) {
          const std::int64_t id = id_in(row);
          const bool is_told = time_of_id(id) >= seen_until_ && !told_.contains(id);
          if (id <= after || is_told) continue;  // The next look tells it.
          write(*found, {id, text_in(row, "type"), text_in(row, "group"), item_of(row)}, now);
        }
      });
}

void EventFeed::look_later() {
  gateway_.after(kLookPeriod, [this] { look(); });
}

void EventFeed::look() {
  drop_closed();
  drop_unknown();
  if (subscribers_.empty() || gateway_.is_stopped()) {
    is_looking_ = false;
    return;
  }
  keep_alive();
  const WallTime since = seen_until_ - kLateEvents;
  ask({.what = "events", .since_us = since.time_since_epoch().count(), .limit = kEventsOfLook},
      &EventFeed::on_store_events);
  ask({.what = "executing", .limit = kEventsOfLook}, &EventFeed::on_executing);
  if (looks_ % kNodesEvery == 0) ask({.what = "nodes"}, &EventFeed::on_nodes);
  const bool has_few_groups = last_counters_.size() < kGroupsOfEachLook;
  if (has_few_groups || looks_ % kCountersEvery == 0)
    ask({.what = "groups"}, &EventFeed::on_groups);
  ++looks_;
  look_later();
}

void EventFeed::ask(wire::Query query, OnRows on_rows, std::vector<wire::Row> found) {
  gateway_.ask(
      feed_principal(), query,
      [this, query, on_rows, found = std::move(found)](Result<wire::Message> answer) mutable {
        auto* rows = answer.ok() ? std::get_if<wire::Rows>(&answer.value()) : nullptr;
        if (rows == nullptr) return;
        for (wire::Row& row : rows->rows) found.push_back(std::move(row));
        const bool has_more = !rows->next.empty() && found.size() < kRowsOfLook &&
                              (query.limit == 0 || found.size() < kEventsOfLook);
        if (!has_more) return (this->*on_rows)(found);
        query.after = rows->next;
        ask(std::move(query), on_rows, std::move(found));
      });
}

void EventFeed::on_store_events(const std::vector<wire::Row>& rows) {
  for (const wire::Row& row : rows) {
    const std::int64_t id = id_in(row);
    const bool is_old = time_of_id(id) < seen_until_ - kLateEvents;
    if (is_old || !told_.insert(id).second) continue;
    // At the first look after a subscription, earlier events are only noted.
    const bool is_from_before = looks_ <= 1 && time_of_id(id) < seen_until_;
    if (is_from_before) continue;
    tell_short_start(row);
    tell({id, text_in(row, "type"), text_in(row, "group"), item_of(row)});
  }
  seen_until_ = std::max(seen_until_, gateway_.clock().wall_now() - kLookPeriod);
  forget_old_ids();
}

void EventFeed::forget_old_ids() {
  const std::int64_t oldest = IdSource::first_of(seen_until_ - 2 * kLateEvents);
  told_.erase(told_.begin(), told_.lower_bound(oldest));
}

// A run that began and ended between two looks.
void EventFeed::tell_short_start(const wire::Row& ended) {
  if (text_in(ended, "type") != "run.ended" || text_in(ended, "started_at").empty()) return;
  const std::pair<std::string, std::int64_t> key{text_in(ended, "job_id"),
                                                 number_in(ended, "attempt")};
  if (!knows_executing_ || executing_.contains(key) || executed_.contains(key)) return;
  Json item = item_of(ended);
  for (const char* const name :
       {"id", "type", "state", "ended_at", "exit_code", "message", "count"})
    item.erase(name);
  tell({0, "run.started", text_in(ended, "group"), std::move(item)});
}

// Of more than a page the starts are not told one by one.
void EventFeed::on_executing(const std::vector<wire::Row>& rows) {
  std::set<std::pair<std::string, std::int64_t>> now;
  const bool is_whole = static_cast<std::int64_t>(rows.size()) < kEventsOfLook;
  for (const wire::Row& row : rows) {
    std::pair<std::string, std::int64_t> key{text_in(row, "job_id"), number_in(row, "attempt")};
    if (is_whole && knows_executing_ && !executing_.contains(key))
      tell({0, "run.started", text_in(row, "group"), item_of(row)});
    now.insert(std::move(key));
  }
  executed_ = std::exchange(executing_, std::move(now));
  knows_executing_ = is_whole;
}

void EventFeed::on_nodes(const std::vector<wire::Row>& rows) {
  std::map<std::string, std::string> now;
  for (const wire::Row& row : rows) {
    const std::string state = text_in(row, "state");
    const bool is_gone = state == "gone" || state == "unreachable";
    std::string key =
        text_in(row, "group") + '\n' + text_in(row, "name") + '\n' + text_in(row, "address");
    const auto before = nodes_.find(key);
    const bool was_gone = before == nodes_.end() || before->second == "gone";
    if (knows_nodes_ && was_gone != is_gone)
      tell({0, is_gone ? "node.lost" : "node.joined", text_in(row, "group"), item_of(row)});
    now[std::move(key)] = is_gone ? "gone" : state;
  }
  nodes_ = std::move(now);
  knows_nodes_ = true;
}

// Each group's are an event of its own, so that everybody gets those of the own groups.
void EventFeed::on_groups(const std::vector<wire::Row>& rows) {
  Json counters = Json::object();
  for (const wire::Row& row : rows) {
    const Json item = item_of(row);
    const std::string group = text_in(row, "group");
    counters[group] = {{"group", group},
                       {"waiting", item.value("waiting", Json{})},
                       {"executing", item.value("executing", Json{})},
                       {"due", item.value("due", Json{})},
                       {"nodes", item.value("nodes", Json{})}};
    const bool is_new = !last_counters_.is_object() || !last_counters_.contains(group) ||
                        last_counters_[group] != counters[group];
    if (is_new) tell({0, "stats", group, counters[group]});
  }
  last_counters_ = std::move(counters);
}

bool EventFeed::may_see(const Subscriber& subscriber, const Event& event) const {
  if (event.group.empty()) return subscriber.group.empty() && subscriber.principal.covers_all();
  return (subscriber.group.empty() || subscriber.group == event.group) &&
         subscriber.principal.covers(event.group);
}

std::string EventFeed::text_of_event(const Event& event) {
  const std::string id = event.id == 0 ? "" : "id: " + std::to_string(event.id) + "\n";
  return id + "event: " + event.type + "\ndata: " + text_of(event.data) + "\n\n";
}

void EventFeed::write(Entry& entry, const Event& event, SteadyTime now) {
  if (!may_see(entry.subscriber, event)) return;
  entry.written_at = now;
  (void)entry.subscriber.stream.write(text_of_event(event));  // One that is closed is dropped.
}

void EventFeed::tell(Event event) {
  const SteadyTime now = gateway_.clock().steady_now();
  for (Entry& entry : subscribers_) write(entry, event, now);
}

void EventFeed::drop_closed() {
  std::erase_if(subscribers_,
                [](const Entry& entry) { return !entry.subscriber.stream.is_open(); });
}

// Streams whose token or session has ended.
void EventFeed::drop_unknown() {
  std::erase_if(subscribers_, [this](const Entry& entry) {
    const Subscriber& one = entry.subscriber;
    if (is_still_sender_(one.principal, one.head)) return false;
    one.stream.end();
    return true;
  });
}

// Clients that have gone are noticed by what is written to them.
void EventFeed::keep_alive() {
  const SteadyTime now = gateway_.clock().steady_now();
  for (Entry& entry : subscribers_) {
    if (now - entry.written_at < kKeepAlivePeriod) continue;
    entry.written_at = now;
    (void)entry.subscriber.stream.write(": wait\n\n");
  }
}

namespace {

void read_events(Api& api, const ExchangePtr& exchange) {
  const Parameters& parameters = exchange->parameters;
  CARILLON_TRY_CALL(exchange, parameters.allow_only({"group", "last_event_id"}));
  CARILLON_TRY_CALL(exchange, api.events.check_room(exchange->principal));
  // Browsers cannot set the header at their first request.
  const std::string header = exchange->header("last-event-id");
  const std::string last = header.empty() ? parameters.text("last_event_id") : header;
  std::int64_t after = 0;
  if (!last.empty()) {
    const auto [end, failed] = std::from_chars(last.data(), last.data() + last.size(), after);
    if (failed != std::errc{} || end != last.data() + last.size() || after < 0) {
      return exchange->fail(Error{ErrorCode::kInvalidArgument,
                                  "last_event_id is '" + last + "', must be the id of an event"});
    }
  }
  api.events.add({.principal = exchange->principal,
                  .head = head_of(exchange->call),
                  .group = parameters.text("group"),
                  .stream = exchange->responder.stream(
                      {.content_type = "text/event-stream",
                       .headers = {{"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}}}),
                  .after = after});
}

constexpr std::array kEventRoutes{
    Route{"GET", "/events", read_events, Right::kRead},
};

}  // namespace

std::span<const Route> event_routes() { return kEventRoutes; }

}  // namespace carillon::jobtracker::api
