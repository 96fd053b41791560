#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "carillon/result.h"
#include "shared/runtime/mailbox.h"
#include "shared/runtime/thread.h"
#include "shared/wire/xxl/messages.h"
#include "tasktracker/executor/job_threads.h"
#include "tasktracker/executor/log_folder.h"

namespace carillon::tasktracker {

struct ExecutorApiConfig {
  std::string path{};      // what comes before "/run" in its address, as "/worker-1"
  std::string app_name{};  // an admin that names another one is refused
  std::string token{};     // empty: none is asked for
};

// A request from an xxl-job admin, without the HTTP around it.
struct ExecutorCall {
  std::string method{};
  std::string target{};
  std::optional<std::string> token{};
  std::optional<std::string> app_name{};
  std::string body{};
};

// Answers an admin's requests, in all dialects. The answer to every one is JSON with a code, under
// HTTP status 200.
//
// Log files are read on a thread of its own, so that no disk holds up the other calls.
//
// Thread: any; `answer` is called on this thread or on that one.
class ExecutorApi {
 public:
  using Answer = std::function<void(std::string json)>;

  // The references must outlive it.
  static Result<std::unique_ptr<ExecutorApi>> start(ExecutorApiConfig config, JobThreads& jobs,
                                                    const LogFolder& logs);
  ~ExecutorApi();
  ExecutorApi(const ExecutorApi&) = delete;
  ExecutorApi& operator=(const ExecutorApi&) = delete;

  void call(const ExecutorCall& call, Answer answer);

 private:
  struct LogRead {
    wire::xxl::LogCall call{};
    Answer answer{};
  };

  ExecutorApi(ExecutorApiConfig config, JobThreads& jobs, const LogFolder& logs);
  std::optional<std::string> refusal_of(const ExecutorCall& call) const;
  std::string_view path_of(const ExecutorCall& call) const;
  Result<wire::xxl::Reply> carry_out(std::string_view path, const std::string& body);
  void read_log(const std::string& body, Answer answer);
  void read_logs();

  const ExecutorApiConfig config_;
  JobThreads& jobs_;
  const LogFolder& logs_;
  Mailbox<std::optional<LogRead>> log_reads_;  // nothing: the end
  std::unique_ptr<Thread> log_reader_;
};

}  // namespace carillon::tasktracker
