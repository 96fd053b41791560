#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jobclient/submit/requests.h"
#include "jobclient/submit/stored_submits.h"
#include "jobclient/submit/submit_queue.h"
#include "tests/sim/disk.h"
#include "tests/sim/network.h"

namespace carillon::sim {

// A program that uses the client library: its requests, its queue of submissions and its outbox if
// it has a disk, without its thread.
//
// Thread: the simulation's.
class ClientProcess final : public Process {
 public:
  ClientProcess(Timeline& timeline, Network& network, std::string name,
                std::vector<std::string> trackers, bool listens_apart)
      : Process(timeline, std::move(name)),
        network_(network),
        trackers_(std::move(trackers)),
        listens_apart_(listens_apart) {}
  ~ClientProcess() override { kill(); }
  // Submissions are stored there while no tracker is reachable. Before its first life.
  Disk& add_disk(Chance& chance, Random& random) {
    random_ = &random;
    return *(disk_ = std::make_unique<Disk>(*this, chance));
  }

  // `number` is drawn once a life.
  void start(std::int64_t number);
  // What it had asked for may have been done; nobody is told.
  void kill();

  void submit(std::vector<JobSpec> jobs, SubmitQueue::Done done);
  void ask(wire::Message request, Requests::Done done);
  // Likewise, but not counted: a listener always has one open. Listeners of several job trackers
  // have connections of their own, because each may have to go elsewhere.
  void fetch(wire::FetchFeedback request, Requests::Done done);
  Sizes sizes() const;
  std::size_t unanswered() const { return unanswered_; }
  const Disk* disk() const { return disk_.get(); }

  // What became of each job that was stored.
  StoredSubmits::OnDelivered on_delivered = [](const SubmitAnswer&) {};

 private:
  void end_turn() override;
  std::unique_ptr<Requests> open_requests();
  Requests& listener(const std::string& client_group);

  Network& network_;
  const std::vector<std::string> trackers_;
  const bool listens_apart_;
  std::int64_t number_ = 0;
  std::unique_ptr<Requests> requests_;
  std::map<std::string, std::unique_ptr<Requests>> listeners_;  // by client group
  std::unique_ptr<SubmitQueue> submits_;
  std::unique_ptr<Disk> disk_;
  Random* random_ = nullptr;
  std::unique_ptr<StoredSubmits> stored_;
  std::size_t unanswered_ = 0;
  TimerId timer_ = 0;
  std::optional<SteadyTime> timer_at_{};
};

}  // namespace carillon::sim
