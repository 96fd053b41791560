#include "jobtracker/store/sql/request_ledger.h"

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <utility>

#include "jobtracker/store/request_slots.h"
#include "jobtracker/store/sql/batch_writer.h"
#include "jobtracker/store/sql/sql_rows.h"

namespace carillon::jobtracker {
namespace {

using sql::Value;

constexpr std::string_view kSelectSequences = "SELECT slot, sequence FROM lts_client ";
constexpr std::string_view kOfSlots = "WHERE slot IN ";
constexpr std::string_view kSelectAnswer =
    "SELECT answer, outcomes FROM lts_client WHERE slot = ? AND sequence = ?";
// Two job trackers may answer a request concurrently. A scan would lock rows of others.
constexpr std::string_view kByKey = "FORCE INDEX (PRIMARY) ";
constexpr std::string_view kLocked = " FOR UPDATE";
constexpr std::string_view kAddAnswers =
    "INSERT INTO lts_client (slot, sequence, answer, outcomes, at_us) VALUES";
constexpr std::string_view kReplaceAnswers =
    "REPLACE INTO lts_client (slot, sequence, answer, outcomes, at_us) VALUES";
constexpr int kAnswerWidth = 5;

std::int64_t slot_key(const NumberedRequest& request) {
  return request.client * kAnswersKept + slot_of(request.sequence);
}

Status read_answer(sql::Connection& db, const NumberedRequest& request, RequestOutcome& outcome) {
  Result<std::vector<Outcome>> outcomes{std::vector<Outcome>{}};
  CARILLON_TRY(db.query(kSelectAnswer,
                        SqlValues{Value::of(slot_key(request)), Value::of(request.sequence)},
                        [&](const sql::Row& row) {
                          outcome.answer = std::string{row.bytes(0)};
                          outcomes = decode_outcomes(row.bytes(1));
                        }));
  outcome.outcomes = CARILLON_TRY(std::move(outcomes));
  return {};
}

}  // namespace

Result<UsedSlots> look_up_requests(sql::Connection& db, const Batch& batch, Committed& committed) {
  UsedSlots used;
  if (batch.requests.empty()) return used;
  SqlValues slots;
  for (const NumberedRequest& request : batch.requests) {
    slots.push_back(Value::of(slot_key(request)));
  }
  std::unordered_map<std::int64_t, std::int64_t>
      newest;  // sequence of a slot, stored or assigned here
  const bool locks = db.dialect() == sql::Dialect::kMysql;
  CARILLON_TRY(in_lists(slots, [&](std::string_view list, std::span<const Value> chunk) {
    return db.query(
        joined({kSelectSequences, locks ? kByKey : "", kOfSlots, list, locks ? kLocked : ""}),
        chunk, [&](const sql::Row& row) { newest[row.integer(0)] = row.integer(1); });
  }));
  for (const auto& [slot, sequence] : newest) used.insert(slot);
  for (const NumberedRequest& request : batch.requests) {
    RequestOutcome outcome;
    std::int64_t& sequence = newest[slot_key(request)];
    if (request.sequence <= sequence) {
      outcome.answered_before = true;
      CARILLON_TRY(read_answer(db, request, outcome));
      for (std::size_t i = 0; i < request.operation_count; ++i) {
        committed.outcomes[request.first_operation + i].kind = OutcomeKind::kAnswered;
      }
    }
    sequence = std::max(sequence, request.sequence);
    committed.requests.push_back(std::move(outcome));
  }
  return used;
}

Status store_requests(sql::Connection& db, const Batch& batch, const Committed& committed,
                      UsedSlots used) {
  SqlValues added;
  SqlValues replaced;
  std::deque<std::string> outcomes;
  for (std::size_t i = 0; i < batch.requests.size(); ++i) {
    if (committed.requests[i].answered_before) continue;
    const NumberedRequest& request = batch.requests[i];
    outcomes.push_back(encode_outcomes(committed.outcomes.data() + request.first_operation,
                                       request.operation_count));
    SqlValues& values = used.insert(slot_key(request)).second ? added : replaced;
    values.insert(values.end(), {Value::of(slot_key(request)), Value::of(request.sequence),
                                 Value::of_bytes(request.answer), Value::of_bytes(outcomes.back()),
                                 value_of(batch.now)});
  }
  if (auto status = db.insert_rows(kAddAnswers, kAnswerWidth, added); !status.ok()) {
    Error error = std::move(status).error();
    if (is_duplicate_key(error)) error.code = ErrorCode::kConflict;
    return error;
  }
  return db.insert_rows(kReplaceAnswers, kAnswerWidth, replaced);
}

}  // namespace carillon::jobtracker
