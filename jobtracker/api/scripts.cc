// Versions of scripts, and the search in scripts.
#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "jobtracker/api/api.h"
#include "jobtracker/api/body.h"
#include "jobtracker/api/row_pages.h"
#include "shared/base/utf8.h"

namespace carillon::jobtracker::api {
namespace {

constexpr std::size_t kMatchesMax = 20;  // lines shown of a script
constexpr std::size_t kLineBytesShown = 300;

Json version_item(const wire::Row& row) {
  const Json item = item_of(row);
  Json version{{"version", std::to_string(number_in(row, "version"))},
               {"language", item["language"]},
               {"remark", item["remark"]},
               {"at", item["saved_at"]},
               {"by", nullptr},
               {"bytes", item["bytes"]},
               {"is_current", flag_in(row, "used")}};
  if (field_of(row, "source") != nullptr) version["source"] = text_in(row, "source");
  return version;
}

wire::Query query_for(const ExchangePtr& exchange, const char* what) {
  return {.what = what, .group = exchange->parts[0], .task_id = exchange->parts[1]};
}

void list_versions(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({"page_size", "page_token"}));
  ask_rows(api, exchange, query_for(exchange, "scripts"), [exchange](const wire::Rows& rows) {
    // They are few, and the newest is the first.
    Json items = Json::array();
    for (const wire::Row& row : rows.rows) items.push_back(version_item(row));
    exchange->send({{"items", std::move(items)}, {"next_page_token", ""}});
  });
}

// Error: kInvalidArgument.
Result<std::string> version_of_path(const ExchangePtr& exchange) {
  const std::string& version = exchange->parts[2];
  const bool is_number =
      version.size() <= 18 &&
      std::all_of(version.begin(), version.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (is_number) return version;
  return Error{ErrorCode::kInvalidArgument, "version is '" + version + "', must be a number"};
}

void ask_version(Api& api, const ExchangePtr& exchange,
                 std::function<void(const wire::Row&)> then) {
  wire::Query query = query_for(exchange, "script");
  query.after = CARILLON_TRY_CALL(exchange, version_of_path(exchange));
  ask_rows(api, exchange, std::move(query), [exchange, then](const wire::Rows& rows) {
    if (rows.rows.empty())
      return exchange->fail(Error{ErrorCode::kNotFound, "there is no such version"});
    then(rows.rows.front());
  });
}

void show_version(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({}));
  ask_version(api, exchange,
              [exchange](const wire::Row& row) { exchange->send(version_item(row)); });
}

void restore_version(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({}));
  Body body = CARILLON_TRY_CALL(exchange, Body::of(*exchange));
  CARILLON_TRY_CALL(exchange, body.finish());
  ask_version(api, exchange, [&api, exchange](const wire::Row& row) {
    change(api, exchange,
           {.verb = wire::Verb::kSetScript,
            .group = exchange->parts[0],
            .task_id = exchange->parts[1],
            .payload = text_in(row, "source"),
            .language = text_in(row, "language"),
            .remark = "restored version " + exchange->parts[2]});
  });
}

void put_script(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({}));
  Body body = CARILLON_TRY_CALL(exchange, Body::of(*exchange));
  wire::Act act{
      .verb = wire::Verb::kSetScript, .group = exchange->parts[0], .task_id = exchange->parts[1]};
  act.payload = CARILLON_TRY_CALL(exchange, body.required_text("source"));
  act.language = CARILLON_TRY_CALL(exchange, body.text("language"));
  act.remark = CARILLON_TRY_CALL(exchange, body.text("remark"));
  CARILLON_TRY_CALL(exchange, body.finish());
  change(api, exchange, std::move(act));
}

// The lines that contain the text, whatever the case; all scripts match an empty text.
Json matches_in(std::string_view source, const std::string& wanted) {
  Json matches = Json::array();
  if (wanted.empty()) return matches;
  std::int64_t number = 0;
  while (!source.empty() && matches.size() < kMatchesMax) {
    const std::string_view line = source.substr(0, source.find('\n'));
    source.remove_prefix(std::min(source.size(), line.size() + 1));
    ++number;
    if (lower_ascii(line).find(wanted) == std::string::npos) continue;
    matches.push_back({{"line", number}, {"text", std::string{line.substr(0, kLineBytesShown)}}});
  }
  return matches;
}

void search_scripts(Api& api, const ExchangePtr& exchange) {
  const Parameters& parameters = exchange->parameters;
  CARILLON_TRY_CALL(exchange, parameters.allow_only({"text", "group", "page_size", "page_token"}));
  const std::string wanted = lower_ascii(parameters.text("text"));
  send_page(api, exchange,
            {.queries = {{.what = "sources", .group = parameters.text("group"), .text = wanted}},
             .matches = [wanted](const wire::Row& row,
                                 int) { return contains_text(row, wanted, {"source"}); },
             .item =
                 [wanted](const wire::Row& row, int) {
                   return Json{{"group", text_in(row, "group")},
                               {"task_id", text_in(row, "task_id")},
                               {"language", text_in(row, "language")},
                               {"remark", text_in(row, "remark")},
                               {"matches", matches_in(text_in(row, "source"), wanted)}};
                 }});
}

constexpr std::array kScriptRoutes{
    Route{"GET", "/scripts", search_scripts, Right::kRead},
    Route{"GET", "/jobs/{}/{}/scripts", list_versions, Right::kRead},
    Route{"GET", "/jobs/{}/{}/scripts/{}", show_version, Right::kRead},
    Route{"POST", "/jobs/{}/{}/scripts/{}:restore", restore_version, Right::kEdit},
    Route{"PUT", "/jobs/{}/{}/script", put_script, Right::kEdit},
};

}  // namespace

std::span<const Route> script_routes() { return kScriptRoutes; }

}  // namespace carillon::jobtracker::api
