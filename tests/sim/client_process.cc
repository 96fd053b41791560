#include "tests/sim/client_process.h"

#include <utility>

#include "shared/base/assert.h"

namespace carillon::sim {

void ClientProcess::start(std::int64_t number) {
  begin_life();
  number_ = number;
  requests_ = open_requests();
  if (disk_) {
    disk_->begin_life();
    stored_ = std::make_unique<StoredSubmits>(
        *disk_, static_cast<std::int64_t>(disk_->kept().size()), disk_->last_id(), *requests_,
        *this, *random_, [this](const SubmitAnswer& answer) { on_delivered(answer); });
    requests_->store_with([this](UnansweredSubmit submit) { stored_->store(std::move(submit)); },
                          [this] { return static_cast<std::int64_t>(random_->next() >> 5); });
  }
  submits_ = std::make_unique<SubmitQueue>(*requests_, *this);
  unanswered_ = 0;
  timer_ = 0;
  timer_at_.reset();
}

std::unique_ptr<Requests> ClientProcess::open_requests() {
  auto opened = Requests::open(
      {.trackers = trackers_}, *this, number_,
      [this](const std::string& tracker) -> Result<std::unique_ptr<net::ClientTransport>> {
        return network_.connect(*this, tracker);
      });
  CARILLON_ASSERT(opened.ok(), "a client of the simulation has a tracker to ask");
  return std::move(opened).value();
}

Requests& ClientProcess::listener(const std::string& client_group) {
  if (!listens_apart_) return *requests_;
  std::unique_ptr<Requests>& own = listeners_[client_group];
  if (own == nullptr) own = open_requests();
  return *own;
}

void ClientProcess::kill() {
  if (!is_alive()) return;
  end_life();
  if (disk_) disk_->end_life();
  submits_.reset();
  stored_.reset();
  listeners_.clear();
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

void ClientProcess::fetch(wire::FetchFeedback request, Requests::Done done) {
  run([this, request = std::move(request), done = std::move(done)] {
    listener(request.client_group).ask(request, steady_now(), done);
  });
}

Sizes ClientProcess::sizes() const {
  if (!is_alive()) return {};
  Sizes all;
  add_sizes(all, "requests", requests_->sizes());
  for (const auto& [client_group, requests] : listeners_) {
    add_sizes(all, "listener", requests->sizes());
  }
  add_sizes(all, "submits", submits_->sizes());
  if (stored_) add_sizes(all, "stored", stored_->sizes());
  return all;
}

// As the client's own thread does.
void ClientProcess::end_turn() {
  if (stored_) stored_->take_done();
  submits_->flush();
  requests_->run_due();
  submits_->flush();
  if (stored_) stored_->start_next();
  std::optional<SteadyTime> due = requests_->next_due();
  const auto consider = [&due](std::optional<SteadyTime> other) {
    if (other && (!due || *other < *due)) due = other;
  };
  if (stored_) consider(stored_->next_due());
  for (const auto& [client_group, requests] : listeners_) {
    requests->run_due();
    consider(requests->next_due());
  }
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
