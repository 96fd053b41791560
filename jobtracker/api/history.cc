// Cleans the history, and counts ends.
#include <array>
#include <memory>
#include <utility>

#include "jobtracker/api/api.h"
#include "jobtracker/api/body.h"
#include "jobtracker/api/row_pages.h"

namespace carillon::jobtracker::api {
namespace {

struct Cleaning {
  wire::Act act{.verb = wire::Verb::kCleanHistory};
  std::int64_t count = 0;
};

// One step after the other, until nothing is left.
void clean_next(Api& api, const ExchangePtr& exchange, const std::shared_ptr<Cleaning>& cleaning) {
  ask(api, exchange, cleaning->act,
      [&api, exchange, cleaning](const Result<wire::Message>& answer) {
        const auto* acted = answer.ok() ? std::get_if<wire::Acted>(&answer.value()) : nullptr;
        if (!answer.ok()) return exchange->fail(answer.error());
        if (acted == nullptr)
          return exchange->fail(Error{ErrorCode::kCorrupt, "the answer to a change is of no use"});
        cleaning->count += acted->count;
        cleaning->act.after = acted->next;
        if (acted->next != 0) return clean_next(api, exchange, cleaning);
        exchange->send({{"count", cleaning->count},
                        {"message", std::to_string(cleaning->count) + " rows removed"}});
      });
}

void clean_history(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({}));
  Body body = CARILLON_TRY_CALL(exchange, Body::of(*exchange));
  const auto cleaning = std::make_shared<Cleaning>();
  cleaning->act.group = CARILLON_TRY_CALL(exchange, body.text("group"));
  cleaning->act.task_id = CARILLON_TRY_CALL(exchange, body.text("task_id"));
  const auto before = CARILLON_TRY_CALL(exchange, body.time("before"));
  CARILLON_TRY_CALL(exchange, body.finish());
  if (!before) {
    return exchange->fail(Error{ErrorCode::kInvalidArgument,
                                "before is missing, it is required (rows that ended before this "
                                "time are removed)"});
  }
  if (!cleaning->act.task_id.empty() && cleaning->act.group.empty())
    return exchange->fail(Error{ErrorCode::kInvalidArgument, "group is missing, a task has one"});
  cleaning->act.until_us = std::max<std::int64_t>(before->time_since_epoch().count(), 1);
  clean_next(api, exchange, cleaning);
}

void count_ends(Api& api, const ExchangePtr& exchange) {
  const Parameters& parameters = exchange->parameters;
  CARILLON_TRY_CALL(exchange,
                    parameters.allow_only({"group", "since", "until", "page_size", "page_token"}));
  const WallTime now = api.gateway.clock().wall_now();
  const WallTime until = CARILLON_TRY_CALL(exchange, parameters.time("until")).value_or(now);
  const WallTime since = CARILLON_TRY_CALL(exchange, parameters.time("since"))
                             .value_or(until - std::chrono::hours{24});
  const wire::Query query{.what = "counts",
                          .group = parameters.text("group"),
                          .since_us = since.time_since_epoch().count(),
                          .until_us = until.time_since_epoch().count()};
  ask_rows(api, exchange, query, [exchange](const wire::Rows& rows) {
    std::vector<Json> items;
    for (const wire::Row& row : rows.rows) items.push_back(item_of(row));
    send_items(exchange, std::move(items), "group");
  });
}

constexpr std::array kHistoryRoutes{
    Route{"POST", "/runs/history:clean", clean_history, Right::kAdminister},
    Route{"GET", "/counts", count_ends, Right::kRead},
};

}  // namespace

std::span<const Route> history_routes() { return kHistoryRoutes; }

}  // namespace carillon::jobtracker::api
