#include "jobtracker/api/api.h"

#include "jobtracker/api/json_rows.h"

namespace carillon::jobtracker::api {
namespace {

// Whether the store keeps the answers to the numbers of such requests. Others have the same effect
// when they are repeated.
bool is_numbered(wire::Verb verb) {
  switch (verb) {
    case wire::Verb::kCancel:
    case wire::Verb::kSuspend:
    case wire::Verb::kResume:
    case wire::Verb::kTrigger:
    case wire::Verb::kKill:
    case wire::Verb::kSetScript:
    case wire::Verb::kSetPriority:
    case wire::Verb::kTag:
    case wire::Verb::kUntag:
      return true;
    case wire::Verb::kAddExecutors:
    case wire::Verb::kSplitGroup:
    case wire::Verb::kCleanHistory:
    case wire::Verb::kRemoveGroup:
    case wire::Verb::kDrainNode:
    case wire::Verb::kIsolateNode:
    case wire::Verb::kReleaseNode:
    case wire::Verb::kSilence:
    case wire::Verb::kTestAlarm:
      return false;
  }
  return false;
}

}  // namespace

bool is_still_sender(const Api& api, const ExchangePtr& exchange) {
  return api.is_still_sender(exchange->principal, exchange->call);
}

Error sender_changed() {
  return {ErrorCode::kDenied,
          "the token or session of the call has ended, or its principal has other rights now"};
}

void ask(Api& api, const ExchangePtr& exchange, wire::Message message, Gateway::Done done) {
  api.gateway.ask(on_behalf_of(exchange->principal, exchange->call.peer), std::move(message),
                  std::move(done));
}

void ask_rows(Api& api, const ExchangePtr& exchange, wire::Query query,
              std::function<void(wire::Rows)> then) {
  ask(api, exchange, std::move(query),
      [exchange, then = std::move(then)](Result<wire::Message> answer) {
        if (!answer.ok()) return exchange->fail(answer.error());
        auto* rows = std::get_if<wire::Rows>(&answer.value());
        if (rows == nullptr)
          return exchange->fail(Error{ErrorCode::kCorrupt, "the answer to a query has no rows"});
        then(std::move(*rows));
      });
}

void change(Api& api, const ExchangePtr& exchange, wire::Act act,
            std::function<void(const wire::Acted&)> then) {
  const auto key = CARILLON_TRY_CALL(exchange, call_key_of(*exchange, api.secret()));
  if (key) {
    if (!api.keys.note(*key)) return exchange->fail(used_before());
    act.request = key->number;
    act.fingerprint = key->fingerprint;
  }
  const std::int64_t fingerprint = is_numbered(act.verb) ? act.fingerprint : 0;
  ask(api, exchange, std::move(act),
      [exchange, fingerprint, then = std::move(then)](Result<wire::Message> answer) {
        if (!answer.ok()) return exchange->fail(answer.error());
        const auto* acted = std::get_if<wire::Acted>(&answer.value());
        if (acted == nullptr)
          return exchange->fail(Error{ErrorCode::kCorrupt, "the answer to a change is of no use"});
        // Without a fingerprint it answers a request that had no key.
        if (fingerprint != 0 && acted->fingerprint != fingerprint)
          return exchange->fail(used_before());
        then(*acted);
      });
}

void change(Api& api, const ExchangePtr& exchange, wire::Act act) {
  change(api, exchange, std::move(act), [exchange](const wire::Acted& acted) {
    Json body{{"message", acted.message}};
    if (acted.job_id) body["job_id"] = std::to_string(acted.job_id.value);
    exchange->send(body);
  });
}

}  // namespace carillon::jobtracker::api
