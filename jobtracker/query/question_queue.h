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

// Queries of clients without an answer yet. A client repeats a query until it is answered; a
// repeated query does not start again. Few queries use the store at a time. The others wait here; a
// query that its client no longer repeats is dropped.
//
// Answers pass through this object, which ends their queries.
//
// Thread: the loop.
class QuestionQueue final : public ClientLink {
 public:
  // A client repeats a query after 10 s at the latest. After this time without a repetition the
  // client is gone.
  static constexpr Duration kGone = std::chrono::seconds{25};
  // Most queries at the store: one that it answers and one that it starts next.
  static constexpr std::size_t kAsked = 2;
  static constexpr std::size_t kWaitingMax = 1024;

  // Current steady time.
  using Now = std::function<SteadyTime()>;
  QuestionQueue(Questions& questions, ClientLink& clients, Now now)
      : questions_(questions), clients_(clients), now_(std::move(now)) {}

  // Returns false for a repetition of a query that has no answer yet.
  bool begin(const Asker& asker);
  // Reads for a started query. Error: kLimit if too many reads wait.
  using OnRead = std::function<void(Result<ReadAnswer>)>;
  void read(const Asker& asker, Read question, OnRead on_read);

  bool deliver(const Asker& asker, wire::Message message) override;

  Sizes sizes() const { return {{"begun", begun_.size()}, {"waiting", waiting_.size()}}; }

 private:
  struct Waiting {
    Asker asker{};
    Read question{};
    OnRead on_read{};
  };

  void forget_gone();
  void ask_next();

  Questions& questions_;
  ClientLink& clients_;
  const Now now_;
  std::map<Asker, SteadyTime> begun_;  // when the client last sent it
  std::deque<Waiting> waiting_;
  std::size_t asked_ = 0;
};

}  // namespace carillon::jobtracker
