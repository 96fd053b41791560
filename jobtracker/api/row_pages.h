#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobtracker/api/api.h"
#include "jobtracker/api/json_rows.h"

namespace carillon::jobtracker::api {

// A list of the API: rows of a query, or of several, one after the other, of which those that do
// not match the filters of the call are left out.
//
// A page has at most page_size items. It may have fewer, even none, although more follow: where few
// rows match, a call searches for a limited time.
struct RowList {
  // The queries, each for one phase.
  std::vector<wire::Query> queries{};
  // Whether a row matches; not set: all do.
  std::function<bool(const wire::Row&, int phase)> matches{};
  std::function<Json(const wire::Row&, int phase)> item{};
  // Called with the items of the page before they are sent; not set: they are sent at once.
  std::function<void(Json items, std::function<void(Json)> send)> complete{};
};

// Answers the call with a page. The parameters page_size and page_token are read here.
void send_page(Api& api, const ExchangePtr& exchange, RowList list);

inline constexpr std::int64_t kPageSizeDefault = 50;
inline constexpr std::int64_t kPageSizeMax = 1000;
Result<std::int64_t> page_size_of(const Parameters& parameters);

// All rows of a query, at most `rows_max`.
void ask_all_rows(Api& api, const ExchangePtr& exchange, wire::Query query, std::size_t rows_max,
                  std::function<void(std::vector<wire::Row>)> then);

// A page of items that are all at hand. `key` identifies and sorts them; `name`: this field does.
using ItemKey = std::function<std::string(const Json&)>;
void send_items(const ExchangePtr& exchange, std::vector<Json> items, const ItemKey& key);
void send_items(const ExchangePtr& exchange, std::vector<Json> items, const char* name);

// Whether one of the fields contains the text, whatever the case of ASCII letters; also for no
// text.
bool contains_text(const wire::Row& row, const std::string& text,
                   std::initializer_list<std::string_view> fields);
// Whether a field equals the text, or no text is given.
bool is_text(const wire::Row& row, std::string_view field, const std::string& text);

}  // namespace carillon::jobtracker::api
