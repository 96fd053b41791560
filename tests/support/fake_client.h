#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "carillon/job_spec.h"
#include "shared/wire/messages.h"
#include "tests/support/fake_network.h"

namespace carillon::testing {

// A job client in virtual time: numbered requests, sent again each second until they are answered.
//
// Thread: the test's.
class FakeClient {
 public:
  FakeClient(std::int64_t client, FakeNetwork& network, ManualTaskRunner& task_runner,
             const Clock& clock);

  // The number of the request.
  std::int64_t submit(std::vector<JobSpec> jobs);
  std::int64_t act(wire::Act act);
  // As if the answer had been lost.
  void send_again(std::int64_t sequence);
  std::uint64_t query(wire::Query query);
  // As a client does while it is not answered.
  void query_again(std::uint64_t correlation, wire::Query query);
  std::uint64_t fetch_feedback(wire::FetchFeedback fetch);
  void fetch_again(std::uint64_t correlation, wire::FetchFeedback fetch);

  // Null: not answered yet. The newest, if it was sent again.
  const wire::Message* answer_to(std::int64_t sequence) const;
  const wire::Message* answer_to_query(std::uint64_t correlation) const;
  std::size_t unanswered() const { return unanswered_.size(); }
  std::size_t answers() const { return answers_; }          // of requests, repeated ones too
  std::size_t slowed_down() const { return slowed_down_; }  // how often it was told to

  // Called for each answer to a request.
  std::function<void(std::int64_t, const wire::Message&)> on_answer = [](std::int64_t,
                                                                         const wire::Message&) {};

 private:
  void connect();
  void send(std::int64_t sequence);
  void on_frame(std::string_view frame);

  const std::int64_t client_;
  FakeNetwork& network_;
  const Clock& clock_;
  ScopedTaskRunner task_runner_;
  net::Peer peer_{};
  std::int64_t last_ = 0;
  std::map<std::int64_t, wire::Message> requests_;
  std::map<std::int64_t, TimerId> unanswered_;  // when it is sent again
  std::map<std::int64_t, wire::Message> answered_;
  std::map<std::uint64_t, wire::Message> rows_;
  std::uint64_t last_query_ = 0;
  std::size_t answers_ = 0;
  std::size_t slowed_down_ = 0;
};

}  // namespace carillon::testing
