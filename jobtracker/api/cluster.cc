// Node groups, nodes, executors, job trackers and their settings.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "jobtracker/api/api.h"
#include "jobtracker/api/body.h"
#include "jobtracker/api/refusals.h"
#include "jobtracker/api/row_pages.h"

namespace carillon::jobtracker::api {
namespace {

constexpr std::size_t kNodesMax = 20'000;
constexpr std::size_t kFiguresMax = 20'000;
constexpr Duration kLatenessTime = std::chrono::minutes{5};
constexpr std::int64_t kPartsMax = 64;

// ---- node groups ----

// What the list of groups has beside the rows of the job trackers.
struct GroupExtras {
  std::map<std::string, std::int64_t> threads{};
  std::map<std::string, std::int64_t> lateness_p95_ms{};
};

Json group_item(const wire::Row& row, const GroupExtras& extras) {
  Json item = item_of(row);
  item.erase("name");
  const std::string group = text_in(row, "group");
  const auto threads = extras.threads.find(group);
  item["threads"] = threads == extras.threads.end() ? 0 : threads->second;
  const auto lateness = extras.lateness_p95_ms.find(group);
  item["lateness_p95_ms"] =
      lateness == extras.lateness_p95_ms.end() ? Json{} : Json(lateness->second);
  return item;
}

void send_groups(Api& api, const ExchangePtr& exchange,
                 const std::shared_ptr<GroupExtras>& extras) {
  send_page(api, exchange,
            {.queries = {{.what = "groups", .group = exchange->parameters.text("group")}},
             .matches =
                 [text = exchange->parameters.text("text"),
                  kind = exchange->parameters.text("kind")](const wire::Row& row, int) {
                   return contains_text(row, text, {"group"}) && is_text(row, "kind", kind);
                 },
             .item = [extras](const wire::Row& row, int) { return group_item(row, *extras); }});
}

void list_groups(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only(
                                  {"group", "text", "kind", "page_size", "page_token"}));
  const auto extras = std::make_shared<GroupExtras>();
  const WallTime since = api.gateway.clock().wall_now() - kLatenessTime;
  const wire::Query figures{.what = "figures", .since_us = since.time_since_epoch().count()};
  ask_all_rows(api, exchange, {.what = "nodes"}, kNodesMax,
               [&api, exchange, extras, figures](const std::vector<wire::Row>& nodes) {
                 for (const wire::Row& node : nodes) {
                   if (text_in(node, "state") != "gone")
                     extras->threads[text_in(node, "group")] += number_in(node, "threads");
                 }
                 ask_all_rows(api, exchange, figures, kFiguresMax,
                              [&api, exchange, extras](const std::vector<wire::Row>& minutes) {
                                for (const wire::Row& minute : minutes) {
                                  if (number_in(minute, "ended") == 0) continue;
                                  std::int64_t& most =
                                      extras->lateness_p95_ms[text_in(minute, "group")];
                                  most = std::max(most, number_in(minute, "lateness_p95_ms"));
                                }
                                send_groups(api, exchange, extras);
                              });
               });
}

void split_group(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({}));
  Body body = CARILLON_TRY_CALL(exchange, Body::of(*exchange));
  const auto parts = CARILLON_TRY_CALL(exchange, body.number("parts", 0, 2, kPartsMax));
  CARILLON_TRY_CALL(exchange, body.finish());
  change(api, exchange,
         {.verb = wire::Verb::kSplitGroup,
          .group = exchange->parts[0],
          .parts = static_cast<std::int32_t>(parts)});
}

void add_executors(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({}));
  Body body = CARILLON_TRY_CALL(exchange, Body::of(*exchange));
  wire::Act act{.verb = wire::Verb::kAddExecutors, .group = exchange->parts[0]};
  act.addresses = CARILLON_TRY_CALL(exchange, body.texts("addresses", kAddressesMax));
  act.token = CARILLON_TRY_CALL(exchange, body.optional_text("token"));
  CARILLON_TRY_CALL(exchange, body.finish());
  change(api, exchange, std::move(act));
}

void remove_group(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({}));
  change(api, exchange, {.verb = wire::Verb::kRemoveGroup, .group = exchange->parts[0]});
}

// ---- nodes ----

void list_nodes(Api& api, const ExchangePtr& exchange) {
  const Parameters& parameters = exchange->parameters;
  CARILLON_TRY_CALL(exchange, parameters.allow_only({"group", "name", "kind", "state", "text",
                                                     "page_size", "page_token"}));
  send_page(api, exchange,
            {.queries = {{.what = "nodes", .group = parameters.text("group")}},
             .matches =
                 [name = parameters.text("name"), kind = parameters.text("kind"),
                  state = parameters.text("state"),
                  text = parameters.text("text")](const wire::Row& row, int) {
                   return is_text(row, "name", name) && is_text(row, "kind", kind) &&
                          is_text(row, "state", state) &&
                          contains_text(row, text, {"name", "address", "labels"});
                 },
             .item = [](const wire::Row& row, int) { return item_of(row); }});
}

// For each connected task tracker with this name.
void act_on_node(Api& api, const ExchangePtr& exchange, wire::Verb verb) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({}));
  Body body = CARILLON_TRY_CALL(exchange, Body::of(*exchange));
  const std::string group = CARILLON_TRY_CALL(exchange, body.text("group"));
  CARILLON_TRY_CALL(exchange, body.finish());
  const std::string& name = exchange->parts[0];
  const wire::Query nodes{.what = "nodes", .group = group};
  ask_all_rows(api, exchange, nodes, kNodesMax,
               [&api, exchange, verb, name](const std::vector<wire::Row>& rows) {
                 std::set<std::string> groups;
                 for (const wire::Row& row : rows) {
                   const bool is_wanted = text_in(row, "name") == name &&
                                          text_in(row, "kind") == "tasktracker" &&
                                          text_in(row, "state") != "gone";
                   if (is_wanted) groups.insert(text_in(row, "group"));
                 }
                 if (groups.empty()) {
                   return exchange->fail(
                       Error{ErrorCode::kNotFound, "no task tracker '" + name + "' is connected"});
                 }
                 if (groups.size() > 1) {
                   return exchange->fail(
                       Error{ErrorCode::kInvalidArgument,
                             "group is missing: task trackers of several groups have this name"});
                 }
                 change(api, exchange, {.verb = verb, .group = *groups.begin(), .node = name});
               });
}

void drain_node(Api& api, const ExchangePtr& exchange) {
  act_on_node(api, exchange, wire::Verb::kDrainNode);
}
void isolate_node(Api& api, const ExchangePtr& exchange) {
  act_on_node(api, exchange, wire::Verb::kIsolateNode);
}
void release_node(Api& api, const ExchangePtr& exchange) {
  act_on_node(api, exchange, wire::Verb::kReleaseNode);
}

Json executor_item(const wire::Row& row, int) {
  const Json item = item_of(row);
  return {{"group", item["group"]},
          {"address", item["address"]},
          {"state", item["state"]},
          {"last_seen", item["last_seen"]},
          {"is_manual", text_in(row, "labels") == "by hand"}};
}

void list_executors(Api& api, const ExchangePtr& exchange) {
  const Parameters& parameters = exchange->parameters;
  CARILLON_TRY_CALL(exchange,
                    parameters.allow_only({"group", "state", "text", "page_size", "page_token"}));
  send_page(api, exchange,
            {.queries = {{.what = "nodes", .group = parameters.text("group")}},
             .matches =
                 [state = parameters.text("state"), text = parameters.text("text")](
                     const wire::Row& row, int) {
                   return text_in(row, "kind") == "executor" && is_text(row, "state", state) &&
                          contains_text(row, text, {"address"});
                 },
             .item = executor_item});
}

// ---- job trackers ----

Json tracker_item(const Api& api, const wire::Row& row) {
  Json item = item_of(row);
  const bool is_self = text_in(row, "address") == api.facts.address;
  item["version"] = is_self ? Json(api.facts.version) : Json{};
  item["is_self"] = is_self;
  return item;
}

// Where the store is not shared, there are no others to see.
Json own_tracker_item(const Api& api) {
  return {{"name", api.facts.name}, {"address", api.facts.address}, {"partitions", nullptr},
          {"groups", nullptr},      {"version", api.facts.version}, {"is_self", true}};
}

void list_trackers(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({"page_size", "page_token"}));
  ask_all_rows(api, exchange, {.what = "trackers"}, kNodesMax,
               [&api, exchange](const std::vector<wire::Row>& rows) {
                 std::vector<Json> items;
                 for (const wire::Row& row : rows) items.push_back(tracker_item(api, row));
                 if (items.empty()) items.push_back(own_tracker_item(api));
                 send_items(exchange, std::move(items), "name");
               });
}

void show_config(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({"page_size", "page_token"}));
  if (is_denied(api, exchange)) return;
  std::vector<Json> items;
  for (const ApiFacts::Setting& one : api.facts.settings)
    items.push_back({{"name", one.name}, {"value", one.value}, {"source", one.source}});
  send_items(exchange, std::move(items), "name");
}

constexpr std::array kClusterRoutes{
    Route{"GET", "/groups", list_groups, Right::kRead},
    Route{"POST", "/groups/{}:split", split_group, Right::kAdminister},
    Route{"POST", "/groups/{}/executors", add_executors, Right::kAdminister},
    Route{"DELETE", "/groups/{}", remove_group, Right::kAdminister},
    Route{"GET", "/nodes", list_nodes, Right::kRead},
    Route{"POST", "/nodes/{}:drain", drain_node, Right::kOperate},
    Route{"POST", "/nodes/{}:isolate", isolate_node, Right::kOperate},
    Route{"POST", "/nodes/{}:release", release_node, Right::kOperate},
    Route{"GET", "/executors", list_executors, Right::kRead},
    Route{"GET", "/trackers", list_trackers, Right::kRead},
    Route{"GET", "/config", show_config, Right::kAdminister},
};

}  // namespace

std::span<const Route> cluster_routes() { return kClusterRoutes; }

}  // namespace carillon::jobtracker::api
