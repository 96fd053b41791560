// Submits a job to a job tracker, then shows what is waiting and what is running.
//
//   example_submit [tcp://HOST:PORT]

#include <chrono>
#include <cstdio>
#include <string>

#include <carillon/job_client.h>

namespace {

int fail(const char* what, const carillon::Error& error) {
  std::fprintf(stderr, "example_submit: %s: %s\n", what, error.message.c_str());
  return 1;
}

// Every page of an answer, a line a row.
int print(const char* title, carillon::JobClient& client,
          carillon::Result<carillon::RowPage> (carillon::JobClient::*question)(
              const carillon::RowFilter&)) {
  std::printf("%s:\n", title);
  carillon::RowFilter filter;
  do {
    const carillon::Result<carillon::RowPage> page = (client.*question)(filter);
    if (!page.ok()) return fail(title, page.error());
    for (const carillon::Row& row : page.value().rows) {
      std::printf("  %s %s\n", carillon::field_text(row, "job_id").c_str(),
                  carillon::field_text(row, "task_id").c_str());
    }
    filter.after = page.value().next;
  } while (!filter.after.empty());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  carillon::JobClientOptions options;
  if (argc > 1) options.trackers = {argv[1]};
  const auto client = carillon::JobClient::open(options);
  if (!client.ok()) return fail("open", client.error());

  carillon::JobSpec job;
  job.description = "says hello in a minute";
  job.schedule.kind = carillon::ScheduleKind::kAt;
  job.schedule.at = std::chrono::floor<carillon::Duration>(std::chrono::system_clock::now()) +
                    std::chrono::minutes{1};
  job.run.kind = carillon::RunKind::kCommand;
  job.run.command = {"echo", "hello"};

  const auto answer = client.value()->submit_one(job);
  if (!answer.ok()) return fail("submit", answer.error());
  if (answer.value().status == carillon::SubmitStatus::kStored) {
    std::printf("stored on this machine, the next client delivers it: %s\n",
                answer.value().reason.c_str());
    return 0;
  }
  std::printf("%s: task %s, job %lld %s\n", carillon::to_string(answer.value().status),
              answer.value().task_id.c_str(), static_cast<long long>(answer.value().job_id.value),
              answer.value().reason.c_str());
  if (answer.value().status != carillon::SubmitStatus::kAccepted) return 1;

  const int waiting = print("waiting", *client.value(), &carillon::JobClient::waiting);
  const int executing = print("executing", *client.value(), &carillon::JobClient::executing);
  return waiting != 0 ? waiting : executing;
}
