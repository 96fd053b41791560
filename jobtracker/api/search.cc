// One search over everything, for a search box.
#include <array>
#include <memory>
#include <utility>

#include "jobtracker/api/api.h"
#include "jobtracker/api/job_filter.h"
#include "jobtracker/api/row_pages.h"
#include "jobtracker/api/run_filter.h"

namespace carillon::jobtracker::api {
namespace {

constexpr std::size_t kHitsOfKind = 10;
constexpr std::size_t kRowsSearched = 4'000;

Json hit(const char* type, const wire::Row& row, const std::string& label) {
  const auto text_or_null = [&](const char* name) {
    const std::string text = text_in(row, name);
    return text.empty() ? Json{} : Json(text);
  };
  return {{"type", type},
          {"group", text_or_null("group")},
          {"task_id", text_or_null("task_id")},
          {"job_id", text_or_null("job_id")},
          {"label", label}};
}

using Hits = std::shared_ptr<Json>;

void add_rows(const Hits& hits, const char* type, const std::vector<wire::Row>& rows,
              const std::string& text, std::initializer_list<std::string_view> fields,
              std::string_view label) {
  std::size_t found = 0;
  for (const wire::Row& row : rows) {
    if (found == kHitsOfKind) return;
    if (!contains_text(row, text, fields)) continue;
    hits->push_back(hit(type, row, text_in(row, label)));
    ++found;
  }
}

void search_runs(Api& api, const ExchangePtr& exchange, const std::string& text, const Hits& hits) {
  const auto send = [exchange, hits] { exchange->send({{"items", std::move(*hits)}}); };
  const auto id = job_id_of(text);
  if (!id.ok()) return send();
  ask(api, exchange, wire::Query{.what = "job", .job_id = id.value()},
      [hits, send](const Result<wire::Message>& answer) {
        const auto* rows = answer.ok() ? std::get_if<wire::Rows>(&answer.value()) : nullptr;
        if (rows != nullptr) {
          for (const wire::Row& row : rows->rows)
            hits->push_back(hit("run", row, text_in(row, "task_id") + " " + text_in(row, "state")));
        }
        send();
      });
}

void search_nodes(Api& api, const ExchangePtr& exchange, const std::string& text,
                  const Hits& hits) {
  ask_all_rows(api, exchange, {.what = "groups"}, kRowsSearched,
               [&api, exchange, text, hits](const std::vector<wire::Row>& groups) {
                 add_rows(hits, "group", groups, text, {"group"}, "group");
                 ask_all_rows(api, exchange, {.what = "nodes"}, kRowsSearched,
                              [&api, exchange, text, hits](const std::vector<wire::Row>& nodes) {
                                add_rows(hits, "node", nodes, text, {"name", "address"}, "name");
                                search_runs(api, exchange, text, hits);
                              });
               });
}

void search_all(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({"text"}));
  const std::string text = exchange->parameters.text("text");
  const auto hits = std::make_shared<Json>(Json::array());
  if (text.empty()) return exchange->send({{"items", *hits}});
  ask_all_rows(api, exchange, {.what = "list", .text = text}, kHitsOfKind,
               [&api, exchange, text, hits](const std::vector<wire::Row>& definitions) {
                 add_rows(hits, "job", definitions, text,
                          {"task_id", "description", "owner", "tags"}, "task_id");
                 search_nodes(api, exchange, text, hits);
               });
}

constexpr std::array kSearchRoutes{
    Route{"GET", "/search", search_all, Right::kRead},
};

}  // namespace

std::span<const Route> search_routes() { return kSearchRoutes; }

}  // namespace carillon::jobtracker::api
