#include "jobtracker/api/api.h"

#include "jobtracker/api/json_rows.h"

namespace carillon::jobtracker::api {

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
  const auto key = CARILLON_TRY_CALL(exchange, call_key_of(*exchange));
  if (key) {
    if (!api.keys.note(*key)) return exchange->fail(used_before());
    act.request = key->number;
    act.fingerprint = key->fingerprint;
  }
  const std::int64_t fingerprint = act.fingerprint;
  ask(api, exchange, std::move(act),
      [exchange, fingerprint, then = std::move(then)](Result<wire::Message> answer) {
        if (!answer.ok()) return exchange->fail(answer.error());
        const auto* acted = std::get_if<wire::Acted>(&answer.value());
        if (acted == nullptr)
          return exchange->fail(Error{ErrorCode::kCorrupt, "the answer to a change is of no use"});
        const bool is_other = acted->fingerprint != 0 && acted->fingerprint != fingerprint;
        if (is_other) return exchange->fail(used_before());
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
