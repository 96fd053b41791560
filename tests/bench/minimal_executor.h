#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "carillon/result.h"

namespace carillon::bench {

// An xxl-job executor that does no more than it must: takes each run with code 200, and tells at
// once that it has succeeded. A thread takes the calls, another tells the results, 200 at a time.
//
// Thread: the one that started it.
class MinimalExecutor {
 public:
  // `admin`: "http://127.0.0.1:PORT/". Returns when it is registered.
  static Result<std::unique_ptr<MinimalExecutor>> start(const std::string& admin,
                                                        const std::string& app_name);
  ~MinimalExecutor();
  MinimalExecutor(const MinimalExecutor&) = delete;
  MinimalExecutor& operator=(const MinimalExecutor&) = delete;

 private:
  MinimalExecutor(int listener, int wake, int admin_port, std::string app_name);

  void take_calls();
  bool read_from(int connection, std::string& unread);
  void tell_results();
  // One POST on `connection`, which is opened if it is not.
  bool post(int& connection, const std::string& path, const std::string& body) const;
  bool register_now(int& connection) const;

  const int listener_;
  const int wake_;
  const int admin_port_;
  const std::string app_name_;
  std::string address_{};
  std::mutex mutex_;
  std::condition_variable has_results_;
  std::vector<std::string> results_;  // log ids
  bool stops_ = false;
  std::thread taking_;
  std::thread telling_;
};

}  // namespace carillon::bench
