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
  std::string path{};      // the part of its address before "/run", like "/worker-1"
  std::string app_name{};  // calls for another app are rejected
  std::string token{};     // empty: no token is needed
};

// A request from an xxl-job admin, without its HTTP.
struct ExecutorCall {
  std::string method{};
  std::string target{};
  std::optional<std::string> token{};
  std::optional<std::string> app_name{};
  std::string body{};
};

// Answers an admin's requests, in all dialects. Each answer is JSON with a code, under HTTP status
// 200.
//
// Log files are read on a separate thread, so that a slow disk does not delay other calls.
//
// Thread: any; `answer` is called on the same or on that thread.
class ExecutorApi {
 public:
  using Answer = std::function<void(std::string json)>;

  // The references must outlive this object.
  static Result<std::unique_ptr<ExecutorApi>> start(ExecutorApiConfig config, JobThreads& jobs,
                                                    const LogFolder& logs);
  ~ExecutorApi();
  ExecutorApi(const ExecutorApi&) = delete;
  ExecutorApi& operator=(const ExecutorApi&) = delete;

  // The answer to a request that is refused whatever its body is. Nothing: the body decides.
  std::optional<std::string> check_head(const ExecutorCall& head) const;
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
  Mailbox<std::optional<LogRead>> log_reads_;  // nothing: stop
  std::unique_ptr<Thread> log_reader_;
};

}  // namespace carillon::tasktracker
