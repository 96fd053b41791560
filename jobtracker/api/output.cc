// The output of runs: in pages, as text, and live.
#include <array>
#include <functional>
#include <memory>
#include <utility>

#include "jobtracker/api/api.h"
#include "jobtracker/api/page_token.h"
#include "jobtracker/api/row_pages.h"
#include "jobtracker/api/run_filter.h"
#include "shared/base/utf8.h"

namespace carillon::jobtracker::api {
namespace {

constexpr std::int64_t kChunksOfQuery = 64;
constexpr std::size_t kTextBytesShown = 8 * 1024 * 1024;
constexpr Duration kFollowPeriod = std::chrono::milliseconds{300};
// A client that has gone is noticed by this.
constexpr Duration kKeepAlive = std::chrono::seconds{15};

bool is_of_attempt(const wire::Row& row, std::int64_t attempt) {
  return attempt == 0 || number_in(row, "attempt") == attempt;
}

// Output may be empty. A run that is not known, or of others, is answered with an error.
void check_run(Api& api, const ExchangePtr& exchange, JobId id, std::function<void()> then) {
  ask_rows(api, exchange, {.what = "job", .job_id = id},
           [exchange, then = std::move(then)](const wire::Rows& rows) {
             if (!rows.rows.empty()) return then();
             exchange->fail(Error{ErrorCode::kNotFound, "there is no such run"});
           });
}

// ---- pages ----

void send_output_page(Api& api, const ExchangePtr& exchange, JobId id, std::int64_t attempt) {
  const PageStart start =
      CARILLON_TRY_CALL(exchange, page_start(exchange->path(), exchange->parameters));
  const std::int64_t size = CARILLON_TRY_CALL(exchange, page_size_of(exchange->parameters));
  const std::int64_t limit = std::min(size, kChunksOfQuery);
  wire::Query query{.what = "output", .job_id = id, .limit = limit, .after = start.after};
  const bool is_first = start.after.empty();
  ask_rows(api, exchange, std::move(query),
           [&api, exchange, id, attempt, is_first](const wire::Rows& rows) {
             Json items = Json::array();
             for (const wire::Row& row : rows.rows) {
               if (is_of_attempt(row, attempt)) items.push_back(item_of(row));
             }
             // The log of an executor comes in parts of any size.
             const bool may_have_more = !rows.rows.empty();
             const std::string next =
                 may_have_more
                     ? page_token({.after = rows.next}, exchange->path(), exchange->parameters)
                     : std::string{};
             const Json page{{"items", std::move(items)}, {"next_page_token", next}};
             if (may_have_more || !is_first) return exchange->send(page);
             check_run(api, exchange, id, [exchange, page] { exchange->send(page); });
           });
}

// ---- text ----

struct OutputText {
  JobId id{};
  std::int64_t attempt = 0;
  std::string after{};
  std::string text{};
};

void send_text(const ExchangePtr& exchange, OutputText& output) {
  exchange->responder.send(
      {.content_type = "text/plain; charset=utf-8",
       .body = std::move(output.text),
       .headers = {{"Content-Disposition",
                    "attachment; filename=\"" + std::to_string(output.id.value) + ".log\""},
                   {"Cache-Control", "no-store"}}});
}

void collect_text(Api& api, const ExchangePtr& exchange,
                  const std::shared_ptr<OutputText>& output) {
  wire::Query query{
      .what = "output", .job_id = output->id, .limit = kChunksOfQuery, .after = output->after};
  ask_rows(api, exchange, std::move(query), [&api, exchange, output](const wire::Rows& rows) {
    for (const wire::Row& row : rows.rows) {
      if (is_of_attempt(row, output->attempt)) output->text += text_in(row, "text");
    }
    output->after = rows.next;
    const bool is_full = output->text.size() >= kTextBytesShown;
    if (!rows.rows.empty() && !is_full) return collect_text(api, exchange, output);
    if (is_full) output->text += "\n[the rest is left out: see the pages of the output]\n";
    if (!output->text.empty()) return send_text(exchange, *output);
    check_run(api, exchange, output->id, [exchange, output] { send_text(exchange, *output); });
  });
}

// ---- live ----

struct Following {
  JobId id{};
  std::int64_t attempt = 0;
  std::string after{};
  net::HttpStream stream;
  bool was_done = false;  // before the last look at the output
  SteadyTime written_at{};
  SteadyTime known_at{};  // the sender was looked for
};
using FollowingPtr = std::shared_ptr<Following>;

void follow(Api& api, const ExchangePtr& exchange, const FollowingPtr& following);

void end_following(const FollowingPtr& following, const std::string& event, const Json& data) {
  (void)following->stream.write("event: " + event + "\ndata: " + text_of(data) + "\n\n");
  following->stream.end();
}

// Ends the stream of a sender whose token or session has ended.
bool is_still_known(const Api& api, const ExchangePtr& exchange, const FollowingPtr& following) {
  const SteadyTime now = api.gateway.clock().steady_now();
  if (now - following->known_at < kSenderPeriod) return true;
  following->known_at = now;
  if (is_still_sender(api, exchange)) return true;
  end_following(following, "error", {{"detail", sender_changed().message}});
  return false;
}

// Where the output goes on after a row. The log of an executor comes in answers of one row.
std::string place_after(const wire::Rows& rows, const wire::Row& row) {
  if (rows.rows.size() == 1) return rows.next;
  return std::to_string(number_in(row, "attempt")) + ":" + std::to_string(number_in(row, "seq"));
}

void follow_later(Api& api, const ExchangePtr& exchange, const FollowingPtr& following) {
  const SteadyTime now = api.gateway.clock().steady_now();
  if (now - following->written_at > kKeepAlive) {
    following->written_at = now;
    (void)following->stream.write(": wait\n\n");
  }
  api.gateway.after(kFollowPeriod,
                    [&api, exchange, following] { follow(api, exchange, following); });
}

// Whether the run has ended; then everything that it wrote is there with the next look.
void look_for_end(Api& api, const ExchangePtr& exchange, const FollowingPtr& following) {
  ask(api, exchange, wire::Query{.what = "job", .job_id = following->id},
      [&api, exchange, following](const Result<wire::Message>& answer) {
        const auto* rows = answer.ok() ? std::get_if<wire::Rows>(&answer.value()) : nullptr;
        following->was_done =
            rows != nullptr && !rows->rows.empty() && flag_in(rows->rows.front(), "done");
        following->was_done ? follow(api, exchange, following)
                            : follow_later(api, exchange, following);
      });
}

void follow(Api& api, const ExchangePtr& exchange, const FollowingPtr& following) {
  if (!following->stream.is_open() || !is_still_known(api, exchange, following)) return;
  wire::Query query{.what = "output",
                    .job_id = following->id,
                    .limit = kChunksOfQuery,
                    .after = following->after};
  ask(api, exchange, std::move(query),
      [&api, exchange, following](const Result<wire::Message>& answer) {
        const auto* rows = answer.ok() ? std::get_if<wire::Rows>(&answer.value()) : nullptr;
        if (rows == nullptr) {
          const bool is_away = !answer.ok() && (answer.error().code == ErrorCode::kUnavailable ||
                                                answer.error().code == ErrorCode::kTimeout ||
                                                answer.error().code == ErrorCode::kLimit);
          if (is_away && !api.gateway.is_stopped()) return follow_later(api, exchange, following);
          return end_following(following, "error",
                               {{"detail", answer.ok() ? "no rows" : answer.error().message}});
        }
        if (!is_still_known(api, exchange, following)) return;
        following->after = rows->next;
        for (const wire::Row& row : rows->rows) {
          if (!is_of_attempt(row, following->attempt)) continue;
          following->written_at = api.gateway.clock().steady_now();
          const bool is_read =
              following->stream.write("id: " + place_after(*rows, row) +
                                      "\nevent: output\ndata: " + text_of(item_of(row)) + "\n\n");
          if (!is_read) return;
        }
        if (!rows->rows.empty()) return follow(api, exchange, following);
        if (following->was_done) return end_following(following, "end", Json::object());
        look_for_end(api, exchange, following);
      });
}

// First it is made sure that the run exists and may be seen, as a stream has no other status.
void begin_following(Api& api, const ExchangePtr& exchange, JobId id, std::int64_t attempt) {
  ask_rows(api, exchange, {.what = "job", .job_id = id},
           [&api, exchange, id, attempt](const wire::Rows&) {
             const auto following = std::make_shared<Following>(Following{
                 .id = id,
                 .attempt = attempt,
                 .after = exchange->header("last-event-id"),
                 .stream = exchange->responder.stream(
                     {.content_type = "text/event-stream",
                      .headers = {{"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}}}),
                 .written_at = api.gateway.clock().steady_now(),
                 .known_at = api.gateway.clock().steady_now()});
             follow(api, exchange, following);
           });
}

void show_output(Api& api, const ExchangePtr& exchange) {
  const Parameters& parameters = exchange->parameters;
  CARILLON_TRY_CALL(
      exchange, parameters.allow_only({"attempt", "follow", "format", "page_size", "page_token"}));
  const JobId id = CARILLON_TRY_CALL(exchange, job_id_of(exchange->parts[0]));
  const std::int64_t attempt =
      CARILLON_TRY_CALL(exchange, parameters.number("attempt", 0, 0, 1'000'000));
  const bool follows = CARILLON_TRY_CALL(exchange, parameters.flag("follow"));
  const std::string format = parameters.text("format");
  if (!format.empty() && format != "text" && format != "json") {
    return exchange->fail(
        Error{ErrorCode::kInvalidArgument, "format is '" + format + "', must be text or json"});
  }
  if (follows) return begin_following(api, exchange, id, attempt);
  if (format == "json") return send_output_page(api, exchange, id, attempt);
  collect_text(api, exchange,
               std::make_shared<OutputText>(OutputText{.id = id, .attempt = attempt}));
}

constexpr std::array kOutputRoutes{
    Route{"GET", "/runs/{}/output", show_output, Right::kRead},
};

}  // namespace

std::span<const Route> output_routes() { return kOutputRoutes; }

}  // namespace carillon::jobtracker::api
