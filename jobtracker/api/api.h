#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jobtracker/access/access_registry.h"
#include "jobtracker/api/exchange.h"
#include "jobtracker/api/gateway.h"
#include "jobtracker/api/idempotency.h"
#include "jobtracker/api/router.h"
#include "shared/wire/messages.h"

namespace carillon::jobtracker::api {

class Operations;
class EventFeed;

// What the API shows of its job tracker. Values that do not change.
struct ApiFacts {
  std::string name{};
  std::string version{};
  std::string address{};  // for clients of ZeroMQ
  std::string zone{};     // for cron jobs that name none
  // The effective configuration, secrets masked: name, value, source.
  struct Setting {
    std::string name{};
    std::string value{};
    std::string source{};
  };
  std::vector<Setting> settings{};
  // New CURVE keys of a client.
  struct KeyPair {
    std::string public_key{};
    std::string secret_key{};
  };
  std::function<Result<KeyPair>()> make_key_pair{};
};

// What the operations of the API use.
//
// Thread: the gateway's.
struct Api {
  Gateway& gateway;
  const AccessRegistry& registry;
  const ApiFacts& facts;
  const Router& router;
  Operations& operations;
  EventFeed& events;
  RecentKeys keys{};
};

// Asks for the principal of the call.
void ask(Api& api, const ExchangePtr& exchange, wire::Message message, Gateway::Done done);
// The same for a Query. On an error, the call is answered with it, and `then` is not called.
void ask_rows(Api& api, const ExchangePtr& exchange, wire::Query query,
              std::function<void(wire::Rows)> then);
// A change, numbered by the call's Idempotency-Key if it has one. `then` gets the answer; errors
// are answered here.
void change(Api& api, const ExchangePtr& exchange, wire::Act act,
            std::function<void(const wire::Acted&)> then);
// The same, answered with {"job_id", "message"}.
void change(Api& api, const ExchangePtr& exchange, wire::Act act);

// Evaluates to the value of a Result, or answers the call with its error and returns.
#define CARILLON_TRY_CALL(exchange, expression)                 \
  __extension__({                                               \
    auto carillon_try = (expression);                           \
    if (!carillon_try.ok()) [[unlikely]]                        \
      return (exchange)->fail(std::move(carillon_try).error()); \
    std::move(carillon_try).value();                            \
  })

// The operations, by the file that has them.
std::span<const Route> job_routes();
std::span<const Route> job_change_routes();
std::span<const Route> transfer_routes();
std::span<const Route> run_routes();
std::span<const Route> output_routes();
std::span<const Route> history_routes();
std::span<const Route> cluster_routes();
std::span<const Route> script_routes();
std::span<const Route> schedule_routes();
std::span<const Route> calendar_routes();
std::span<const Route> alarm_routes();
std::span<const Route> figure_routes();
std::span<const Route> search_routes();
std::span<const Route> event_routes();
std::span<const Route> operation_routes();
std::span<const Route> principal_routes();
std::span<const Route> frame_routes();
// The path of frame_routes(), whose body is not JSON.
inline constexpr std::string_view kFramesPath = "/frames";
std::span<const Route> document_routes();

}  // namespace carillon::jobtracker::api
