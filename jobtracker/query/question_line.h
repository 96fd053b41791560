#pragma once

#include <deque>
#include <functional>
#include <map>
#include <utility>

#include "jobtracker/state/client_link.h"
#include "jobtracker/store/batcher.h"
#include "shared/base/clock.h"
#include "shared/base/sizes.h"

namespace carillon::jobtracker {

// The questions of clients that have no answer yet. A client sends a question again until it is
// answered; a question that is sent again does not start a second time. Few questions are with the
// store at a time. The others wait here, and one whose client stops sending it is dropped.
//
// Answers pass through, so that their questions end.
//
// Thread: the loop.
class QuestionLine final : public ClientLink {
 public:
  // A client sends a question again after 10 s at the latest, until it is answered. One that was
  // not heard of for this time has gone.
  static constexpr Duration kGone = std::chrono::seconds{25};
  // With the store: one that it answers and one that it finds when it has answered that.
  static constexpr std::size_t kAsked = 2;
  static constexpr std::size_t kWaitingMax = 1024;

  // The clock's steady time counts.
  using Now = std::function<SteadyTime()>;
  QuestionLine(Questions& questions, ClientLink& clients, Now now)
      : questions_(questions), clients_(clients), now_(std::move(now)) {}

  // False: this question has no answer yet, and its client has sent it again.
  bool begin(const Asker& asker);
  // Reads for a question that has begun. kLimit: too many reads wait.
  using OnRead = std::function<void(Result<ReadAnswer>)>;
  void read(const Asker& asker, Read question, OnRead on_read);

  bool deliver(const Asker& asker, wire::Message message) override;

  Sizes sizes() const { return {{"begun", begun_.size()}, {"waiting", waiting_.size()}}; }

 private:
  using Key = std::pair<std::string, std::uint64_t>;  // peer, correlation
  struct Waiting {
    Key asker{};
    Read question{};
    OnRead on_read{};
  };

  static Key key_of(const Asker& asker) { return {asker.peer, asker.correlation}; }
  void forget_gone();
  void ask_next();

  Questions& questions_;
  ClientLink& clients_;
  const Now now_;
  std::map<Key, SteadyTime> begun_;  // when the client last sent it
  std::deque<Waiting> waiting_;
  std::size_t asked_ = 0;
};

}  // namespace carillon::jobtracker
