// Alarms: what is firing, their rules and history, silences.
#include <array>
#include <sstream>
#include <utility>

#include "jobtracker/api/api.h"
#include "jobtracker/api/body.h"
#include "jobtracker/api/row_pages.h"
#include "shared/base/time_text.h"

namespace carillon::jobtracker::api {
namespace {

Json item_with_recipients(const wire::Row& row) {
  Json item = item_of(row);
  Json recipients = Json::array();
  std::istringstream words{text_in(row, "recipients")};
  for (std::string word; words >> word;) recipients.push_back(word);
  item["recipients"] = std::move(recipients);
  return item;
}

Json alarm_item(const wire::Row& row) {
  Json item = field_of(row, "recipients") == nullptr ? item_of(row) : item_with_recipients(row);
  item["id"] = text_in(row, "group") + "/" + text_in(row, "rule");
  return item;
}

void list_alarms(Api& api, const ExchangePtr& exchange) {
  const Parameters& parameters = exchange->parameters;
  CARILLON_TRY_CALL(exchange, parameters.allow_only({"group", "state", "page_size", "page_token"}));
  const std::string state = parameters.text("state");
  ask_all_rows(api, exchange, {.what = "alarms", .group = parameters.text("group")}, 10'000,
               [exchange, state](const std::vector<wire::Row>& rows) {
                 std::vector<Json> items;
                 for (const wire::Row& row : rows) {
                   if (is_text(row, "state", state)) items.push_back(alarm_item(row));
                 }
                 send_items(exchange, std::move(items), "id");
               });
}

void list_rules(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({"page_size", "page_token"}));
  ask_all_rows(api, exchange, {.what = "alarm_rules"}, 10'000,
               [exchange](const std::vector<wire::Row>& rows) {
                 std::vector<Json> items;
                 for (const wire::Row& row : rows) items.push_back(alarm_item(row));
                 send_items(exchange, std::move(items), "id");
               });
}

void list_history_of_alarms(Api& api, const ExchangePtr& exchange) {
  const Parameters& parameters = exchange->parameters;
  CARILLON_TRY_CALL(exchange, parameters.allow_only(
                                  {"group", "state", "since", "until", "page_size", "page_token"}));
  const auto since = CARILLON_TRY_CALL(exchange, parameters.time("since"));
  const auto until = CARILLON_TRY_CALL(exchange, parameters.time("until"));
  RowList list{.queries = {{.what = "alarm_history", .group = parameters.text("group")}},
               .item = [](const wire::Row& row, int) { return item_with_recipients(row); }};
  const std::string state = parameters.text("state");
  if (!state.empty() || since || until) {
    list.matches = [state, since, until](const wire::Row& row, int) {
      const auto at = parse_time(text_in(row, "at"));
      if (at.ok() && ((since && at.value() < *since) || (until && at.value() >= *until)))
        return false;
      return is_text(row, "state", state);
    };
  }
  send_page(api, exchange, std::move(list));
}

void silence_group(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({}));
  Body body = CARILLON_TRY_CALL(exchange, Body::of(*exchange));
  const auto until = CARILLON_TRY_CALL(exchange, body.time("until"));
  CARILLON_TRY_CALL(exchange, body.finish());
  if (!until || *until == WallTime{}) {
    return exchange->fail(
        Error{ErrorCode::kInvalidArgument, "until is missing, must be the end of the silence"});
  }
  change(api, exchange,
         {.verb = wire::Verb::kSilence,
          .group = exchange->parts[0],
          .until_us = until->time_since_epoch().count()});
}

void end_silence(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({}));
  change(api, exchange, {.verb = wire::Verb::kSilence, .group = exchange->parts[0]});
}

void send_test(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({}));
  Body body = CARILLON_TRY_CALL(exchange, Body::of(*exchange));
  const std::string recipient = CARILLON_TRY_CALL(exchange, body.required_text("recipient"));
  CARILLON_TRY_CALL(exchange, body.finish());
  change(api, exchange, {.verb = wire::Verb::kTestAlarm, .addresses = {recipient}});
}

constexpr std::array kAlarmRoutes{
    Route{"GET", "/alarms", list_alarms, Right::kRead},
    Route{"GET", "/alarms/rules", list_rules, Right::kRead},
    Route{"GET", "/alarms/history", list_history_of_alarms, Right::kRead},
    Route{"PUT", "/alarms/silences/{}", silence_group, Right::kOperate},
    Route{"DELETE", "/alarms/silences/{}", end_silence, Right::kOperate},
    Route{"POST", "/alarms:test", send_test, Right::kAdminister},
};

}  // namespace

std::span<const Route> alarm_routes() { return kAlarmRoutes; }

}  // namespace carillon::jobtracker::api
