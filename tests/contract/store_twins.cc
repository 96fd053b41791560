#include "tests/contract/store_twins.h"

#include <algorithm>
#include <variant>

namespace carillon::jobtracker {
namespace {

bool same_requests(const Committed& a, const Committed& b) {
  return std::equal(a.requests.begin(), a.requests.end(), b.requests.begin(), b.requests.end(),
                    [](const RequestOutcome& x, const RequestOutcome& y) {
                      return x.answered_before == y.answered_before && x.answer == y.answer &&
                             x.outcomes == y.outcomes;
                    });
}

const Committed& committed_of(const CommitResult& result) {
  const auto* unknown = std::get_if<Unknown>(&result);
  return unknown != nullptr ? unknown->if_committed : std::get<Committed>(result);
}

std::string text_of(const Outcome& outcome) {
  constexpr const char* kKinds[] = {"done", "conflict", "taken", "answered"};
  return std::string{kKinds[static_cast<std::size_t>(outcome.kind)]} + ", held by job " +
         std::to_string(outcome.existing_job.value) + " or definition " +
         std::to_string(outcome.existing_definition.value) + ", count " +
         std::to_string(outcome.count) + ", next " + std::to_string(outcome.next);
}

void expect_same(const Error& error, const Error& other) {
  EXPECT_EQ(error.code, other.code) << error.message << "; " << other.message;
  EXPECT_EQ(error.message, other.message);
}

// Whether an answer has anything in it.
struct Says {
  bool operator()(const StartAnswer& one) const { return !one.groups.empty(); }
  bool operator()(const ClockAnswer&) const { return true; }
  bool operator()(const JobsAnswer& one) const { return !one.jobs.empty(); }
  bool operator()(const FindAnswer& one) const {
    return one.definition || one.waiting || one.executing;
  }
  bool operator()(const DefinitionAnswer& one) const { return one.definition.has_value(); }
  bool operator()(const FeedbackAnswer& one) const { return !one.entries.empty(); }
  bool operator()(const InboxAnswer& one) const { return !one.rows.empty(); }
  bool operator()(const ExecutorsAnswer& one) const { return !one.executors.empty(); }
  bool operator()(const ExecutorResultsAnswer& one) const { return !one.rows.empty(); }
  bool operator()(const GroupAnswer&) const { return true; }
  bool operator()(const DefinitionsAnswer& one) const { return !one.definitions.empty(); }
  bool operator()(const ExecutingAnswer& one) const { return !one.jobs.empty(); }
  bool operator()(const HistoryAnswer& one) const { return !one.entries.empty(); }
  bool operator()(const OutputAnswer& one) const { return !one.rows.empty(); }
  bool operator()(const CountAnswer& one) const { return !one.groups.empty(); }
  bool operator()(const LogCountAnswer& one) const { return !one.counts.empty(); }
  bool operator()(const ScriptsAnswer& one) const { return !one.versions.empty(); }
  bool operator()(const AuditAnswer& one) const { return !one.rows.empty(); }
  bool operator()(const FiguresAnswer& one) const { return !one.rows.empty(); }
  bool operator()(const FeedbackCounts& one) const { return !one.rows.empty(); }
  bool operator()(const NodesAnswer& one) const { return !one.nodes.empty(); }
  bool operator()(const PrincipalsAnswer& one) const { return !one.rows.empty(); }
  bool operator()(const AlarmHistoryAnswer& one) const { return !one.rows.empty(); }
  bool operator()(const SilencesAnswer& one) const { return !one.rows.empty(); }
};

std::string cut_bytes(int number) { return "cut off here " + std::to_string(number); }

}  // namespace

void Twins::expect(bool holds, const std::string& what) { EXPECT_TRUE(holds) << what; }
void Twins::report_error(const Error& error) { ADD_FAILURE() << error.message; }

Twins::Session* Twins::begin(const StoreSession& as, const SessionPlan& plan) {
  auto memory = memory_.begin(as, plan, clock_);
  auto sql = sql_.begin(as, plan, clock_);
  EXPECT_EQ(memory.ok(), sql.ok()) << (memory.ok() ? sql.error().message : memory.error().message);
  if (!memory.ok() && !sql.ok()) expect_same(memory.error(), sql.error());
  if (!memory.ok() || !sql.ok()) return nullptr;
  if (memory_reader_ == nullptr) {
    memory_reader_ = memory_.open_reader().value();
    sql_reader_ = sql_.open_reader().value();
  }
  Session& session = *sessions_.emplace_back(std::make_unique<Session>());
  session.as = as;
  session.memory = std::move(memory).value();
  session.sql = std::move(sql).value();
  const StartAnswer start = compare_start(&session);
  session.owned = start.owned;
  return &session;
}

void Twins::begin_in_vain(const StoreSession& as, const SessionPlan& plan, bool committed) {
  memory_.cut_next_commit(committed);
  sql_.cut_next_commit(committed);
  const auto memory = memory_.begin(as, plan, clock_);
  const auto sql = sql_.begin(as, plan, clock_);
  EXPECT_TRUE(!memory.ok() && !sql.ok());
  if (!sql.ok()) {
    EXPECT_EQ(sql.error().code, ErrorCode::kTimeout) << sql.error().message;
  }
  compare_rows();
}

bool Twins::is_fenced(const Session& session) const {
  return !tables().trackers.contains({session.as.session, session.as.connection});
}

void Twins::forget(const Session& session) {
  const auto is_it = [&](const std::unique_ptr<Session>& one) { return one.get() == &session; };
  sessions_.erase(std::remove_if(sessions_.begin(), sessions_.end(), is_it), sessions_.end());
}

void Twins::end(const Session& session) {
  distribution_.note(Event::kEnded);
  forget(session);
}

CommitResult Twins::commit_both(Session& session, const Batch& batch) {
  auto result = session.memory->commit(batch);
  const auto other = session.sql->commit(batch);
  EXPECT_EQ(result.index(), other.index()) << "batch " << batch.number;
  if (result.index() != other.index()) return RolledBack{};
  if (const auto* back = std::get_if<RolledBack>(&result)) {
    const auto& other_back = std::get<RolledBack>(other);
    EXPECT_EQ(back->error.code, other_back.error.code) << other_back.error.message;
    EXPECT_EQ(back->fenced, other_back.fenced);
    if (back->fenced) {
      EXPECT_EQ(back->error.message, other_back.error.message);
    }
    // Which one it was is not always known in SQL.
    if (other_back.culprit) {
      EXPECT_EQ(back->culprit, other_back.culprit);
    }
    return result;
  }
  const auto& outcomes = committed_of(result).outcomes;
  const auto& others = committed_of(other).outcomes;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i] == others.at(i)) continue;
    EXPECT_EQ(text_of(outcomes[i]), text_of(others.at(i)))
        << kind_of(batch.operations[i]) << ", operation " << i << " of batch " << batch.number;
  }
  EXPECT_TRUE(same_requests(committed_of(result), committed_of(other))) << "batch " << batch.number;
  return result;
}

std::optional<Committed> Twins::commit(Session& session, Batch batch, Cut cut, bool dies) {
  batch.number = session.number + 1;
  if (cut == Cut::kAnswerLost || cut == Cut::kNeverArrived) {
    memory_.cut_next_commit(cut == Cut::kAnswerLost);
    sql_.cut_next_commit(cut == Cut::kAnswerLost);
  } else if (cut == Cut::kConnectionLost) {
    const std::string bytes = cut_bytes(++cuts_);
    // Of none of the requests, so that it is never one that was answered before.
    batch.operations.push_back(
        AddOutput{{.job_id = JobId{1}, .attempt = 1, .at = batch.now, .bytes = bytes}});
    memory_.cut_when_sent(bytes);
    sql_.cut_when_sent(bytes);
  }
  auto result = commit_both(session, batch);
  if (::testing::Test::HasFailure()) return std::nullopt;
  if (cut == Cut::kNone) {
    // A job that came back while it was somewhere else: in memory it is seen in every table.
    const auto* back = std::get_if<RolledBack>(&result);
    EXPECT_EQ(back, nullptr) << "refused: " << back->error.message;
    EXPECT_FALSE(std::holds_alternative<Unknown>(result));
    if (!std::holds_alternative<Committed>(result)) return std::nullopt;
  } else {
    const auto* back = std::get_if<RolledBack>(&result);
    EXPECT_EQ(back != nullptr, cut == Cut::kConnectionLost);
    if (back != nullptr) {
      EXPECT_EQ(back->error.code, ErrorCode::kUnavailable);
    }
    distribution_.note(cut == Cut::kAnswerLost     ? Event::kAnswerLost
                       : cut == Cut::kNeverArrived ? Event::kNeverArrived
                                                   : Event::kConnectionLost);
    compare_rows();
    if (dies) {
      distribution_.note(Event::kDied);
      forget(session);
      return std::nullopt;
    }
    const auto settled = settle(session, batch.number);
    EXPECT_EQ(settled, cut == Cut::kAnswerLost);
    if (settled != true) {
      result = commit_both(session, batch);
      EXPECT_TRUE(std::holds_alternative<Committed>(result));
      if (!std::holds_alternative<Committed>(result)) return std::nullopt;
    }
  }
  ++session.number;
  distribution_.note(Event::kCommitted);
  Committed committed = committed_of(result);
  for (std::size_t i = 0; i < batch.operations.size(); ++i)
    distribution_.note(batch.operations[i], committed.outcomes[i]);
  return committed;
}

void Twins::refuse_invalid(Session& session, Batch batch) {
  batch.number = session.number + 1;
  const auto result = commit_both(session, batch);
  const auto* back = std::get_if<RolledBack>(&result);
  ASSERT_NE(back, nullptr) << "batch " << batch.number;
  EXPECT_EQ(back->error.code, ErrorCode::kInvalidArgument) << back->error.message;
  EXPECT_FALSE(back->fenced);
  distribution_.note(Event::kInvalidRefused);
}

void Twins::refuse_number(Session& session, Batch batch, std::int64_t off) {
  batch.number = session.number + 1 + off;
  const auto result = commit_both(session, batch);
  const auto* back = std::get_if<RolledBack>(&result);
  ASSERT_NE(back, nullptr) << "batch " << batch.number;
  EXPECT_TRUE(back->fenced);
  distribution_.note(Event::kNumberRefused);
}

void Twins::refuse_fenced(Session& session, Batch batch) {
  batch.number = session.number + 1;
  const auto result = commit_both(session, batch);
  const auto* back = std::get_if<RolledBack>(&result);
  ASSERT_NE(back, nullptr) << "batch " << batch.number;
  EXPECT_TRUE(back->fenced);
  distribution_.note(Event::kFencedRefused);
}

std::optional<bool> Twins::settle(Session& session, std::int64_t number) {
  const auto settled = session.memory->settle(number);
  const auto other = session.sql->settle(number);
  EXPECT_EQ(settled.ok(), other.ok()) << (other.ok() ? "" : other.error().message);
  if (!settled.ok() && !other.ok()) {
    expect_same(settled.error(), other.error());
    if (is_fenced(session)) distribution_.note(Event::kFencedUnsettled);
  }
  if (!settled.ok() || !other.ok()) return std::nullopt;
  EXPECT_EQ(settled.value(), other.value()) << "batch " << number;
  return settled.value();
}

void Twins::raise_heartbeat(SessionId session, bool yields) {
  const auto raised = memory_.raise_heartbeat(session, yields);
  const auto other = sql_.raise_heartbeat(session, yields);
  ASSERT_TRUE(raised.ok() && other.ok());
  EXPECT_EQ(raised.value(), other.value()) << "session " << session.value;
  distribution_.note(raised.value() ? Event::kHeartbeatRaised : Event::kBeatOfNobody);
}

ClusterView Twins::look(GroupId groups_after) {
  const auto view = memory_.look(groups_after);
  const auto other = sql_.look(groups_after);
  EXPECT_TRUE(view.ok() && other.ok());
  if (!view.ok() || !other.ok()) return {};
  EXPECT_TRUE(view.value().heartbeats == other.value().heartbeats) << "beats";
  EXPECT_TRUE(view.value().owners == other.value().owners) << "owners";
  EXPECT_TRUE(view.value().inbox == other.value().inbox) << "inboxes";
  EXPECT_TRUE(view.value().groups == other.value().groups) << "groups";
  const auto& trackers = view.value().trackers;
  const auto& others = other.value().trackers;
  EXPECT_TRUE(std::equal(trackers.begin(), trackers.end(), others.begin(), others.end(),
                         [](const auto& a, const auto& b) {
                           return a.session == b.session && a.name == b.name &&
                                  a.address == b.address && a.yields == b.yields;
                         }))
      << "job trackers";
  distribution_.note(Event::kLooked);
  return view.value();
}

std::pair<Result<ReadAnswer>, Result<ReadAnswer>> Twins::read(Session* who, const Read& question) {
  auto answer = who != nullptr ? who->memory->read(question) : memory_reader_->read(question);
  auto other = who != nullptr ? who->sql->read(question) : sql_reader_->read(question);
  distribution_.note(question, answer.ok() && std::visit(Says{}, answer.value()));
  if (who != nullptr && is_fenced(*who)) distribution_.note(Event::kFencedRead);
  EXPECT_EQ(answer.ok(), other.ok()) << (answer.ok() ? other.error() : answer.error()).message;
  if (!answer.ok() && !other.ok()) expect_same(answer.error(), other.error());
  return {std::move(answer), std::move(other)};
}

StartAnswer Twins::compare_start(Session* who) {
  auto [start, other] = ask<StartAnswer>(who, ReadStart{});
  EXPECT_TRUE(start.groups == other.groups) << "groups";
  EXPECT_TRUE(start.definitions == other.definitions) << "definitions";
  EXPECT_TRUE(start.executing == other.executing) << "executing";
  EXPECT_TRUE(start.retries == other.retries) << "retries";
  EXPECT_EQ(start.id_high, other.id_high);
  EXPECT_EQ(start.feedback, other.feedback);
  EXPECT_EQ(start.definition_high, other.definition_high);
  EXPECT_EQ(start.last_alive, other.last_alive);
  EXPECT_EQ(start.last_alive_of, other.last_alive_of);
  EXPECT_EQ(start.epochs, other.epochs);
  EXPECT_EQ(start.owned, other.owned);
  EXPECT_EQ(start.number, other.number);
  EXPECT_EQ(start.lease, other.lease);
  EXPECT_TRUE(start.executor_groups == other.executor_groups) << "executor groups";
  EXPECT_TRUE(start.executors == other.executors) << "executors";
  EXPECT_TRUE(start.push_runs == other.push_runs) << "push runs";
  EXPECT_TRUE(start.routes == other.routes) << "routes";
  EXPECT_TRUE(start.alarms == other.alarms) << "alarms";
  EXPECT_TRUE(start.silences == other.silences) << "silences";
  return start;
}

void Twins::compare_rows() {
  const auto memory = memory_.rows({}).value();
  const auto sql = sql_.rows(memory);
  ASSERT_TRUE(sql.ok()) << sql.error().message;
  EXPECT_EQ(difference(memory, sql.value()), "");
  distribution_.note(Event::kRowsCompared);
}

}  // namespace carillon::jobtracker
