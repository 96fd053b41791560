#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "carillon/job_runner.h"
#include "shared/base/environment.h"
#include "shared/wire/xxl/messages.h"
#include "tasktracker/run/runner.h"
#include "tasktracker/run/script.h"

// The work of an xxl-job trigger.
namespace carillon::tasktracker {

using HandlersHooks = std::map<std::string, HandlerHooks, std::less<>>;

// A job's handler or script, prepared for the lifetime of its thread.
//
// Thread: the job's; is_for() any.
class JobWork {
 public:
  // `script`: the command, with the file last; empty for a handler.
  JobWork(const wire::xxl::RunCall& call, std::string app_name, std::string node, Runner& runner,
          HandlerHooks hooks, std::optional<ScriptFile> script, std::vector<std::string> command);
  // Calls the handler's destroy().
  ~JobWork();
  JobWork(const JobWork&) = delete;
  JobWork& operator=(const JobWork&) = delete;

  // Whether the call means the same handler, or the same version of the same script.
  bool is_for(const wire::xxl::RunCall& call) const;

  // Runs one trigger to its end; calls a handler's init() before the first.
  wire::xxl::RunResult run(const wire::xxl::RunCall& call, RunControl& control);

 private:
  Status init();

  const std::string glue_type_;
  const std::string handler_;
  const std::int64_t glue_updated_ms_;
  const std::string app_name_;
  const std::string node_;
  Runner& runner_;
  const HandlerHooks hooks_;
  const std::optional<ScriptFile> script_;
  const std::vector<std::string> command_;
  bool is_ready_ = false;
};

struct JobWorksConfig {
  std::string app_name{};
  std::string node{};
  // Why handlers or scripts are rejected; empty: they are accepted.
  std::string handlers_refused{};
  std::string scripts_refused{};
};

// Creates JobWork objects. Thread: any.
class JobWorks {
 public:
  // The references must outlive this object. `runner` must allow handlers and commands.
  JobWorks(JobWorksConfig config, const Handlers& handlers, const HandlersHooks& hooks,
           Runner& runner, ScriptFolder& scripts, const Environment& environment);

  // The error's message is for the admin.
  Result<std::unique_ptr<JobWork>> make(const wire::xxl::RunCall& call) const;

 private:
  Result<std::unique_ptr<JobWork>> make_script(const wire::xxl::RunCall& call,
                                               std::string_view language) const;

  const JobWorksConfig config_;
  const Handlers& handlers_;
  const HandlersHooks& hooks_;
  Runner& runner_;
  ScriptFolder& scripts_;
  const Environment& environment_;
};

}  // namespace carillon::tasktracker
