#include "jobtracker/api/row_pages.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "jobtracker/api/page_token.h"
#include "shared/base/utf8.h"

namespace carillon::jobtracker::api {
namespace {

// Of one query; the job tracker's limit.
constexpr std::int64_t kRowsOfQuery = 400;
// Of one page of a list with filters: the time after which no further query is made.
constexpr Duration kSearchTimeMax = std::chrono::milliseconds{20};

// A page that is being collected.
struct PageWork {
  RowList list{};
  ExchangePtr exchange{};
  PageStart start{};
  std::size_t size = 0;
  Json items = Json::array();
  // Rows to ask for next. Where few rows match it grows.
  std::int64_t wanted = 0;
  SteadyTime began{};
};
using PageWorkPtr = std::shared_ptr<PageWork>;

void finish_page(const PageWorkPtr& work, bool has_more) {
  const std::string token =
      has_more ? page_token(work->start, work->exchange->path(), work->exchange->parameters)
               : std::string{};
  const auto send = [exchange = work->exchange, token](Json items) {
    exchange->send({{"items", std::move(items)}, {"next_page_token", token}});
  };
  if (!work->list.complete) return send(std::move(work->items));
  work->list.complete(std::move(work->items), send);
}

void collect_rows(Api& api, const PageWorkPtr& work);

// Takes what matches. False: the page is full, and the rows after `start.skipped` are for the next.
bool take_rows(PageWork& work, const std::vector<wire::Row>& rows) {
  for (std::size_t i = work.start.skipped; i < rows.size(); ++i) {
    if (work.list.matches && !work.list.matches(rows[i], work.start.phase)) continue;
    if (work.items.size() == work.size) {
      work.start.skipped = i;
      return false;
    }
    work.items.push_back(work.list.item(rows[i], work.start.phase));
  }
  return true;
}

bool is_same_row(const wire::Row& one, const wire::Row& other) {
  const std::array names{"job_id", "id", "attempt", "group", "task_id", "name", "address"};
  return std::all_of(names.begin(), names.end(), [&](const char* name) {
    const auto* const field = field_of(one, name);
    const auto* const same = field_of(other, name);
    return field == nullptr ? same == nullptr : same != nullptr && *field == *same;
  });
}

// The page ends within the rows of an answer. The key of its last row is asked for, because rows
// may go before the next page is asked for.
void end_within(Api& api, const PageWorkPtr& work, const wire::Row& last) {
  wire::Query query = work->list.queries[static_cast<std::size_t>(work->start.phase)];
  query.after = work->start.after;
  query.limit = static_cast<std::int64_t>(work->start.skipped);
  ask_rows(api, work->exchange, std::move(query), [work, last](const wire::Rows& rows) {
    const bool is_exact = rows.rows.size() == work->start.skipped && !rows.next.empty() &&
                          is_same_row(rows.rows.back(), last);
    if (is_exact) work->start = {.phase = work->start.phase, .after = rows.next};
    finish_page(work, true);
  });
}

void on_rows(Api& api, const PageWorkPtr& work, const wire::Rows& rows) {
  if (!take_rows(*work, rows.rows)) {
    if (work->start.skipped == 0) return finish_page(work, true);
    return end_within(api, work, rows.rows[work->start.skipped - 1]);
  }
  work->start.skipped = 0;
  work->start.after = rows.next;
  if (rows.next.empty()) ++work->start.phase;
  const bool is_over = static_cast<std::size_t>(work->start.phase) >= work->list.queries.size();
  if (is_over) return finish_page(work, false);
  const bool is_late = api.gateway.clock().steady_now() - work->began > kSearchTimeMax;
  if (work->items.size() == work->size || is_late) return finish_page(work, true);
  collect_rows(api, work);
}

void collect_rows(Api& api, const PageWorkPtr& work) {
  wire::Query query = work->list.queries[static_cast<std::size_t>(work->start.phase)];
  query.after = work->start.after;
  const auto left = static_cast<std::int64_t>(work->size - work->items.size());
  work->wanted = std::min(kRowsOfQuery, std::max(left, 2 * work->wanted));
  const std::int64_t wanted = work->list.matches ? work->wanted : left;
  // The rows that were returned before are asked for again.
  query.limit = std::min(kRowsOfQuery, wanted + static_cast<std::int64_t>(work->start.skipped));
  ask_rows(api, work->exchange, std::move(query),
           [&api, work](const wire::Rows& rows) { on_rows(api, work, rows); });
}

struct AllRows {
  std::vector<wire::Row> rows{};
  std::size_t rows_max = 0;
  std::function<void(std::vector<wire::Row>)> then{};
};

void collect_all(Api& api, const ExchangePtr& exchange, wire::Query query,
                 const std::shared_ptr<AllRows>& all) {
  query.limit = std::min(kRowsOfQuery, static_cast<std::int64_t>(all->rows_max - all->rows.size()));
  ask_rows(api, exchange, query, [&api, exchange, query, all](wire::Rows answer) mutable {
    for (wire::Row& row : answer.rows) all->rows.push_back(std::move(row));
    if (!answer.next.empty() && all->rows.size() < all->rows_max) {
      query.after = std::move(answer.next);
      return collect_all(api, exchange, std::move(query), all);
    }
    if (all->rows.size() > all->rows_max) all->rows.resize(all->rows_max);
    all->then(std::move(all->rows));
  });
}

}  // namespace

Result<std::int64_t> page_size_of(const Parameters& parameters) {
  return parameters.number("page_size", kPageSizeDefault, 1, kPageSizeMax);
}

void send_page(Api& api, const ExchangePtr& exchange, RowList list) {
  auto work = std::make_shared<PageWork>();
  work->size =
      static_cast<std::size_t>(CARILLON_TRY_CALL(exchange, page_size_of(exchange->parameters)));
  work->start = CARILLON_TRY_CALL(exchange, page_start(exchange->path(), exchange->parameters));
  if (work->start.phase >= static_cast<int>(list.queries.size()))
    return exchange->fail(Error{ErrorCode::kInvalidArgument, "page_token is not one of this list"});
  work->list = std::move(list);
  work->exchange = exchange;
  work->began = api.gateway.clock().steady_now();
  collect_rows(api, work);
}

void ask_all_rows(Api& api, const ExchangePtr& exchange, wire::Query query, std::size_t rows_max,
                  std::function<void(std::vector<wire::Row>)> then) {
  collect_all(api, exchange, std::move(query),
              std::make_shared<AllRows>(AllRows{.rows_max = rows_max, .then = std::move(then)}));
}

void send_items(const ExchangePtr& exchange, std::vector<Json> items, const char* name) {
  send_items(exchange, std::move(items),
             [name](const Json& item) { return item.value(name, std::string{}); });
}

void send_items(const ExchangePtr& exchange, std::vector<Json> items, const ItemKey& key) {
  const auto size =
      static_cast<std::size_t>(CARILLON_TRY_CALL(exchange, page_size_of(exchange->parameters)));
  PageStart start = CARILLON_TRY_CALL(exchange, page_start(exchange->path(), exchange->parameters));
  std::stable_sort(items.begin(), items.end(),
                   [&](const Json& one, const Json& other) { return key(one) < key(other); });
  auto at = std::find_if(items.begin(), items.end(), [&](const Json& item) {
    return start.after.empty() || key(item) > start.after;
  });
  Json page = Json::array();
  for (; at != items.end() && page.size() < size; ++at) {
    start.after = key(*at);
    page.push_back(std::move(*at));
  }
  const std::string token =
      at == items.end() ? std::string{} : page_token(start, exchange->path(), exchange->parameters);
  exchange->send({{"items", std::move(page)}, {"next_page_token", token}});
}

bool contains_text(const wire::Row& row, const std::string& text,
                   std::initializer_list<std::string_view> fields) {
  if (text.empty()) return true;
  const std::string wanted = lower_ascii(text);
  return std::any_of(fields.begin(), fields.end(), [&](std::string_view field) {
    return lower_ascii(text_in(row, field)).find(wanted) != std::string::npos;
  });
}

bool is_text(const wire::Row& row, std::string_view field, const std::string& text) {
  return text.empty() || text_in(row, field) == text;
}

}  // namespace carillon::jobtracker::api
