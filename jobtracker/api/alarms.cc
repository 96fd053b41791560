// Alarms about node groups.
#include <array>
#include <utility>

#include "jobtracker/api/api.h"
#include "jobtracker/api/row_pages.h"

namespace carillon::jobtracker::api {
namespace {

Json alarm_item(const wire::Row& row) {
  Json item = item_of(row);
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

constexpr std::array kAlarmRoutes{
    Route{"GET", "/alarms", list_alarms, Right::kRead},
    Route{"GET", "/alarms/rules", list_rules, Right::kRead},
};

}  // namespace

std::span<const Route> alarm_routes() { return kAlarmRoutes; }

}  // namespace carillon::jobtracker::api
