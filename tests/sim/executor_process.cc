#include "tests/sim/executor_process.h"

#include <utility>
#include <vector>

#include "shared/wire/xxl/read.h"
#include "shared/wire/xxl/write.h"

namespace carillon::sim {

using jobtracker::ExecutorRegistration;
using jobtracker::ExecutorResults;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using wire::xxl::RunResult;

namespace {

constexpr Duration kPeriod = seconds{30};  // of registrations, and of results that were not taken
constexpr Duration kStops = milliseconds{20};

std::string reply(std::int64_t code, const std::string& message = {}) {
  return wire::xxl::write_reply({.code = code, .message = message});
}

wire::RunOutcome outcome_of(std::int64_t code) {
  if (code == wire::xxl::kSuccess) return wire::RunOutcome::kSucceeded;
  return code == wire::xxl::kTimedOut ? wire::RunOutcome::kTimedOut : wire::RunOutcome::kException;
}

}  // namespace

void ExecutorProcess::start() {
  if (is_alive()) return;
  begin_life();
  ++life_;
  has_drawn_ = true;  // The first of a life comes through.
  has_missed_ = has_missed_before_ = false;
  post([this] { register_now(); });
}

void ExecutorProcess::kill() {
  if (!is_alive()) return;
  end_life();
  for (const auto& [log_id, job] : std::exchange(running_, {})) runs_.ended(log_id, std::nullopt);
}

void ExecutorProcess::leave() {
  if (!is_alive()) return;
  // As ours does: until it is answered, and calls that were on their way have come.
  tell_(
      *this,
      ExecutorRegistration{.removes = true, .app_name = options_.app, .address = options_.address},
      [this](bool) { post_at(timeline_.now() + milliseconds{100}, [this] { kill(); }); });
  post_at(timeline_.now() + seconds{3}, [this] { kill(); });
}

void ExecutorProcess::register_now() {
  has_drawn_ = !has_drawn_ && chance_.one_in(8);
  // Two of three would be a rhythm of their own.
  const bool misses = has_drawn_ && !has_missed_before_;
  has_missed_before_ = std::exchange(has_missed_, misses);
  if (!misses) {
    tell_(*this, ExecutorRegistration{.app_name = options_.app, .address = options_.address},
          [](bool) {});
  }
  post_at(timeline_.now() + kPeriod, [this] { register_now(); });
}

std::string ExecutorProcess::answer(const std::string& path, const std::string& body) {
  if (path == "beat") return reply(wire::xxl::kSuccess);
  if (path == "run") {
    const wire::xxl::RunCall call = wire::xxl::read_run(body).value();
    if (is(&Faults::refuses)) {
      runs_.is_refused(call.log_id);
      return reply(wire::xxl::kFailure, "no");
    }
    begin(call);
    return reply(wire::xxl::kSuccess);
  }
  const std::int64_t job = wire::xxl::read_job(body).value().job_id;
  std::vector<std::int64_t> its;
  for (const auto& [log_id, of] : running_) {
    if (of == job) its.push_back(log_id);
  }
  if (path == "idleBeat") {
    const bool is_idle = its.empty() || options_.is_liar || is(&Faults::lies);
    if (is_idle) runs_.says_idle(options_.address, job);
    return reply(is_idle ? wire::xxl::kSuccess : wire::xxl::kFailure);
  }
  for (const std::int64_t log_id : its) {
    post_at(timeline_.now() + kStops, [this, log_id] { end(log_id, wire::xxl::kFailure); });
  }
  return reply(wire::xxl::kSuccess);
}

void ExecutorProcess::begin(const wire::xxl::RunCall& call) {
  if (!runs_.begins(options_.app, options_.address, call)) return;
  running_.emplace(call.log_id, call.job_id);
  Duration time = chance_.between(milliseconds{1}, milliseconds{30});
  if (chance_.one_in(4)) time = chance_.between(Duration{1}, seconds{12});
  if (chance_.one_in(15)) time = chance_.between(minutes{1}, minutes{4});
  std::int64_t code = chance_.one_in(5) ? wire::xxl::kFailure : wire::xxl::kSuccess;
  const Duration timeout = seconds{call.timeout_s};
  // Some mind the time that it may take, some do not.
  if (timeout > Duration{} && time > timeout && !chance_.one_in(3)) {
    time = timeout;
    code = wire::xxl::kTimedOut;
  }
  post_at(timeline_.now() + time, [this, log_id = call.log_id, code] { end(log_id, code); });
}

void ExecutorProcess::end(std::int64_t log_id, std::int64_t code) {
  if (running_.erase(log_id) == 0) return;
  runs_.ended(log_id, outcome_of(code));
  const RunResult result{.log_id = log_id, .code = code, .message = "from " + options_.name};
  const auto after = [this](Duration time, const RunResult& told, bool is_true) {
    post_at(timeline_.now() + time, [this, told, is_true] { send(told, is_true); });
  };
  const Duration late = is(&Faults::is_late) ? chance_.between(Duration{}, seconds{100})
                                             : chance_.between(Duration{}, milliseconds{2});
  after(late, result, true);
  if (chance_.one_in(5)) after(late + chance_.between(Duration{}, seconds{20}), result, false);
  if (!chance_.one_in(10)) return;
  RunResult wrong = result;
  wrong.log_id += static_cast<std::int64_t>(1 + chance_.below(100'000));
  if (!runs_.knows(wrong.log_id)) after(late, wrong, false);
}

void ExecutorProcess::send(const RunResult& result, bool is_true) {
  ExecutorResults results;
  results.results.push_back(result);
  tell_(*this, std::move(results), [this, result, is_true](bool was_taken) {
    if (was_taken) runs_.was_taken(result.log_id);
    if (!is_true) return;
    if (!was_taken && !options_.is_forgetful) {
      post_at(timeline_.now() + kPeriod, [this, result] { send(result, true); });
    } else if (was_taken && chance_.one_in(8) && runs_.has_ended(result.log_id)) {
      RunResult other = result;
      other.code = result.code == wire::xxl::kSuccess ? wire::xxl::kFailure : wire::xxl::kSuccess;
      post_at(timeline_.now() + chance_.between(Duration{}, seconds{5}),
              [this, other] { send(other, false); });
    }
  });
}

}  // namespace carillon::sim
