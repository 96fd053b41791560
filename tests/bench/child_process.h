#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "carillon/result.h"
#include "carillon/time.h"

namespace carillon::bench {

// What a process has used up to now, or several together.
struct Usage {
  Duration cpu{};                    // user and system
  std::int64_t peak_memory_kib = 0;  // resident, the most there was; of the largest
};
Usage operator+(const Usage& a, const Usage& b);

// Of a running process; nothing of one that has ended.
Usage usage_of(pid_t process);

// A program of ours, run as a user runs it: its stdout is read line by line, its stderr goes to a
// file. It dies with the thread that started it, so that a crash of the benchmark leaves none.
//
// Thread: the one that started it.
class ChildProcess {
 public:
  struct Options {
    std::string program{};  // path
    std::vector<std::string> arguments{};
    std::map<std::string, std::string> environment{};  // all of it
    std::string log{};                                 // the file for stderr
  };
  static Result<std::unique_ptr<ChildProcess>> start(const Options& options);
  ~ChildProcess();  // kills it
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // The next line of its stdout. The error quotes its log.
  Result<std::string> read_line(Duration patience);
  // SIGTERM, and waits for its end. An exit status other than 0 is an error that quotes its log.
  Status stop();

  pid_t id() const { return process_; }
  Usage usage() const { return usage_of(process_); }

 private:
  ChildProcess(Options options, pid_t process, int output)
      : options_(std::move(options)), process_(process), output_(output) {}
  Error failed(const std::string& what) const;

  const Options options_;
  pid_t process_;
  int output_;
  std::string unread_{};
};

}  // namespace carillon::bench
