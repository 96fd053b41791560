#include "tests/sim/client_process.h"

#include <utility>

#include "shared/base/assert.h"

namespace carillon::sim {

void ClientProcess::start(std::int64_t number) {
  begin_life();
  auto opened = Requests::open(
      {.trackers = trackers_}, *this, number,
      [this](const std::string& tracker) -> Result<std::unique_ptr<net::ClientTransport>> {
        return network_.connect(*this, tracker);
      });
  CARILLON_ASSERT(opened.ok(), "a client of the simulation has a tracker to ask");
  requests_ = std::move(opened).value();
  submits_ = std::make_unique<SubmitQueue>(*requests_, *this);
  unanswered_ = 0;
  timer_ = 0;
  timer_at_.reset();
}

void ClientProcess::kill() {
  if (!is_alive()) return;
  end_life();
  submits_.reset();
  requests_.reset();
}

void ClientProcess::submit(std::vector<JobSpec> jobs, SubmitQueue::Done done) {
  ++unanswered_;
  run([this, jobs = std::move(jobs), done = std::move(done)] {
    submits_->add(jobs, [this, done](Result<std::vector<SubmitAnswer>> answers) {
      --unanswered_;
      done(std::move(answers));
    });
  });
}

void ClientProcess::ask(wire::Message request, Requests::Done done) {
  ++unanswered_;
  run([this, request = std::move(request), done = std::move(done)] {
    requests_->ask(request, steady_now(), [this, done](Result<wire::Message> answer) {
      --unanswered_;
      done(std::move(answer));
    });
  });
}

// As the client's own thread does.
void ClientProcess::end_turn() {
  submits_->flush();
  requests_->run_due();
  const std::optional<SteadyTime> due = requests_->next_due();
  if (due == timer_at_) return;
  if (timer_ != 0) cancel(timer_);
  timer_ = 0;
  timer_at_ = due;
  if (!due) return;
  timer_ = post_at(*due, [this] {
    timer_ = 0;
    timer_at_.reset();
  });
}

}  // namespace carillon::sim
