#include "tests/support/fake_client.h"

#include <utility>

#include "shared/wire/codec.h"

namespace carillon::testing {
namespace {

constexpr Duration kResend = std::chrono::seconds{1};
// Correlations of queries lie above those of requests, which are their sequences.
constexpr std::uint64_t kQueries = std::uint64_t{1} << 40;

}  // namespace

FakeClient::FakeClient(std::int64_t client, FakeNetwork& network, ManualTaskRunner& task_runner,
                       const Clock& clock)
    : client_(client), network_(network), clock_(clock), task_runner_(task_runner) {
  task_runner_.post([this] { connect(); });
}

void FakeClient::connect() {
  peer_ = network_.connect({.on_frame = [this](std::string_view frame) { on_frame(frame); },
                            .on_disconnected =
                                [this] {
                                  peer_.clear();
                                  task_runner_.post_at(clock_.steady_now() + kReconnect,
                                                       [this] { connect(); });
                                }});
  if (peer_.empty()) {
    task_runner_.post_at(clock_.steady_now() + kReconnect, [this] { connect(); });
    return;
  }
  std::vector<std::int64_t> open;
  for (const auto& [sequence, resend] : unanswered_) open.push_back(sequence);
  for (const std::int64_t sequence : open) send(sequence);
}

std::int64_t FakeClient::submit(std::vector<JobSpec> jobs) {
  const std::int64_t sequence = ++last_;
  requests_[sequence] = wire::Submit{.request = {client_, sequence}, .jobs = std::move(jobs)};
  unanswered_[sequence] = 0;
  send(sequence);
  return sequence;
}

std::int64_t FakeClient::act(wire::Act act) {
  const std::int64_t sequence = ++last_;
  act.request = {client_, sequence};
  requests_[sequence] = std::move(act);
  unanswered_[sequence] = 0;
  send(sequence);
  return sequence;
}

std::uint64_t FakeClient::query(wire::Query query) {
  const std::uint64_t correlation = kQueries + ++last_query_;
  network_.send_to_server(peer_, wire::encode({correlation, std::move(query)}));
  return correlation;
}

void FakeClient::query_again(std::uint64_t correlation, wire::Query query) {
  network_.send_to_server(peer_, wire::encode({correlation, std::move(query)}));
}

std::uint64_t FakeClient::fetch_feedback(wire::FetchFeedback fetch) {
  const std::uint64_t correlation = kQueries + ++last_query_;
  network_.send_to_server(peer_, wire::encode({correlation, std::move(fetch)}));
  return correlation;
}

void FakeClient::fetch_again(std::uint64_t correlation, wire::FetchFeedback fetch) {
  network_.send_to_server(peer_, wire::encode({correlation, std::move(fetch)}));
}

void FakeClient::send_again(std::int64_t sequence) {
  unanswered_[sequence] = 0;
  send(sequence);
}

void FakeClient::send(std::int64_t sequence) {
  const auto open = unanswered_.find(sequence);
  if (open == unanswered_.end()) return;
  if (!peer_.empty()) {
    network_.send_to_server(
        peer_, wire::encode({static_cast<std::uint64_t>(sequence), requests_.at(sequence)}));
  }
  task_runner_.cancel(open->second);
  open->second =
      task_runner_.post_at(clock_.steady_now() + kResend, [this, sequence] { send(sequence); });
}

void FakeClient::on_frame(std::string_view frame) {
  auto envelope = wire::decode(frame);
  if (!envelope.ok()) return;
  const std::uint64_t correlation = envelope.value().correlation;
  if (correlation > kQueries) {
    rows_[correlation] = std::move(envelope.value().message);
    return;
  }
  const auto sequence = static_cast<std::int64_t>(correlation);
  if (const auto* error = std::get_if<wire::ErrorReply>(&envelope.value().message)) {
    if (error->error.code == ErrorCode::kLimit) ++slowed_down_;
    const bool passes =
        error->error.code == ErrorCode::kUnavailable || error->error.code == ErrorCode::kLimit;
    if (passes) return;  // It is sent again.
  }
  ++answers_;
  unanswered_.erase(sequence);
  answered_[sequence] = std::move(envelope.value().message);
  on_answer(sequence, answered_.at(sequence));
}

const wire::Message* FakeClient::answer_to(std::int64_t sequence) const {
  const auto found = answered_.find(sequence);
  return found == answered_.end() ? nullptr : &found->second;
}

const wire::Message* FakeClient::answer_to_query(std::uint64_t correlation) const {
  const auto found = rows_.find(correlation);
  return found == rows_.end() ? nullptr : &found->second;
}

}  // namespace carillon::testing
