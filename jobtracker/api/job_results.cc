#include "jobtracker/api/job_results.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace carillon::jobtracker::api {
namespace {

// Queries of one call that have no answer yet.
constexpr std::size_t kResultQueriesMax = 8;

struct ResultsWork {
  Json items = Json::array();
  std::function<void(Json)> then{};
  std::size_t count = 0;  // of the items
  std::size_t asked = 0;
  std::size_t answered = 0;
};

void ask_next_results(Api& api, const ExchangePtr& exchange,
                      const std::shared_ptr<ResultsWork>& work) {
  if (work->asked == work->count) return;
  const std::size_t at = work->asked++;
  const Json& item = work->items[at];
  ask(api, exchange,
      results_query(item.value("group", std::string{}), item.value("task_id", std::string{})),
      [&api, exchange, work, at](const Result<wire::Message>& answer) {
        const auto* rows = answer.ok() ? std::get_if<wire::Rows>(&answer.value()) : nullptr;
        if (rows != nullptr) add_results(work->items[at], rows->rows);
        if (++work->answered == work->count) return work->then(std::move(work->items));
        ask_next_results(api, exchange, work);
      });
}

}  // namespace

wire::Query results_query(std::string group, std::string task_id) {
  return {.what = "history",
          .group = std::move(group),
          .task_id = std::move(task_id),
          .limit = kResultsLooked};
}

void add_results(Json& item, const std::vector<wire::Row>& history) {
  std::int64_t ended = 0;
  std::int64_t succeeded = 0;
  for (const wire::Row& row : history) {
    if (number_in(row, "attempt") == 0) continue;
    ++ended;
    if (text_in(row, "state") == "succeeded") ++succeeded;
  }
  if (ended > 0) item["success_rate"] = static_cast<double>(succeeded) / static_cast<double>(ended);
  if (!history.empty()) item["last_result"] = text_in(history.front(), "state");
}

void read_results(Api& api, const ExchangePtr& exchange, Json items,
                  std::function<void(Json)> then) {
  if (items.empty()) return then(std::move(items));
  const std::size_t count = items.size();
  const auto work = std::make_shared<ResultsWork>(
      ResultsWork{.items = std::move(items), .then = std::move(then), .count = count});
  const std::size_t at_first = std::min(kResultQueriesMax, count);
  for (std::size_t i = 0; i < at_first; ++i) ask_next_results(api, exchange, work);
}

}  // namespace carillon::jobtracker::api
