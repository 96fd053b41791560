#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>

#include <carillon/job_client.h>
#include <carillon/task_tracker.h>

// Runs a worker with one handler, submits a job for it, and asks about what waits and runs.
// Exits with 0 when the job came through with what it was given.
namespace {

// Payloads that the handler was called with. The handler runs on a thread of the worker.
class Received {
 public:
  void put(const std::string& payload) {
    const std::lock_guard lock{mutex_};
    payload_ = payload;
    is_there_ = true;
    changed_.notify_all();
  }
  // Empty when nothing came in time.
  std::string wait() {
    std::unique_lock lock{mutex_};
    changed_.wait_for(lock, std::chrono::seconds{20}, [&] { return is_there_; });
    return payload_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string payload_;
  bool is_there_ = false;
};

int fail(const std::string& what, const std::string& why) {
  std::fprintf(stderr, "consumer: %s: %s\n", what.c_str(), why.c_str());
  return 1;
}

int use(const std::string& address) {
  Received received;
  auto worker = carillon::TaskTracker::open({.trackers = {address}, .group = "install"});
  if (!worker.ok()) return fail("open worker", worker.error().message);
  const auto handled = worker.value()->handle("greet", [&](carillon::JobContext& context) {
    context.log("hello " + context.job().payload);
    received.put(context.job().payload);
    return carillon::RunReport::succeeded();
  });
  if (!handled.ok()) return fail("handle", handled.error().message);

  auto client = carillon::JobClient::open({.trackers = {address}});
  if (!client.ok()) return fail("open client", client.error().message);
  carillon::JobSpec job;
  job.task_id = "greeting";
  job.group = "install";
  job.payload = "world";
  job.run.kind = carillon::RunKind::kHandler;
  job.run.handler = "greet";
  const auto answer = client.value()->submit_one(job);
  if (!answer.ok()) return fail("submit", answer.error().message);
  if (answer.value().status != carillon::SubmitStatus::kAccepted) {
    return fail("submit", answer.value().reason);
  }

  // No worker has started yet, so the job waits.
  const auto waiting = client.value()->waiting({.group = "install"});
  if (!waiting.ok()) return fail("waiting", waiting.error().message);
  if (waiting.value().rows.size() != 1 ||
      carillon::field_text(waiting.value().rows.front(), "task_id") != "greeting") {
    return fail("waiting", std::to_string(waiting.value().rows.size()) + " rows");
  }
  const auto executing = client.value()->executing({.group = "install"});
  if (!executing.ok()) return fail("executing", executing.error().message);

  const auto started = worker.value()->start();
  if (!started.ok()) return fail("start", started.error().message);
  const std::string payload = received.wait();
  worker.value()->stop(std::chrono::seconds{5});
  if (payload != "world") return fail("run", "the handler got '" + payload + "'");
  std::puts("consumer: submitted, listed and run");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: consumer tcp://HOST:PORT\n", stderr);
    return 2;
  }
  return use(argv[1]);
}
