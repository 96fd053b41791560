#include "tests/support/fake_executors.h"

#include <algorithm>
#include <utility>

#include "shared/wire/xxl/read.h"
#include "shared/wire/xxl/write.h"

namespace carillon::testing {
namespace {

using net::PostOutcome;
using wire::xxl::Reply;

constexpr Duration kWay = std::chrono::milliseconds{1};

std::string reply(std::int64_t code, const std::string& message = {}) {
  return wire::xxl::write_reply({.code = code, .message = message});
}

}  // namespace

FakeExecutors::One& FakeExecutors::add(const std::string& address) {
  return *ones_.insert_or_assign(address, std::make_unique<One>()).first->second;
}

void FakeExecutors::kill(const std::string& address) {
  at(address).is_up = false;
  at(address).running.clear();
  task_runner_.post_at(clock_.steady_now() + kWay, [this, address, life = life_] {
    const std::string server = address.substr(0, address.size() - 1);
    if (receiver_ != nullptr && life == life_) receiver_->on_hang_up(server);
  });
}

void FakeExecutors::set_receiver(net::PostReceiver* receiver) {
  receiver_ = receiver;
  ++life_;
}

bool FakeExecutors::post(net::Post post) {
  if (takes_no_more) return false;
  most_under_way = std::max(most_under_way, ++under_way);
  task_runner_.post_at(clock_.steady_now() + kWay,
                       [this, life = life_, post = std::move(post)] { send(life, post); });
  return true;
}

void FakeExecutors::send(std::uint64_t life, const net::Post& post) {
  const SteadyTime now = clock_.steady_now();
  PostOutcome outcome{.id = post.id, .kind = PostOutcome::Kind::kNotSent};
  const std::size_t stroke = post.url.rfind('/');
  const auto found = ones_.find(post.url.substr(0, stroke + 1));
  if (post.sending && !post.sending->may_begin(now)) {
    outcome.is_recalled = true;
    return end_post(life, now + kWay, std::move(outcome));
  }
  if (found == ones_.end() || !found->second->is_up) {
    outcome.is_refused = true;
    outcome.error = "connection refused";
    return end_post(life, now + kWay, std::move(outcome));
  }
  One& one = *found->second;
  if (one.is_full && post.may_wait) {
    task_runner_.post_at(now + kWay, [this, life, post] { send(life, post); });
    return;
  }
  if (one.crowded > 0) {
    --one.crowded;
    outcome.is_crowded = true;
    outcome.error = "no connection became free in time";
    return end_post(life, now + post.timeout, std::move(outcome));
  }
  if (post.sending) post.sending->begin(now);
  const std::string path = post.url.substr(stroke + 1);
  one.paths.push_back(path);
  one.headers.clear();
  for (const auto& [name, value] : post.headers) one.headers[name] = value;
  if (!one.hangs) outcome.body = answer(one, path, post.body);
  if (one.hangs || one.loses_answer) {
    outcome.kind = PostOutcome::Kind::kUnknown;
    outcome.error = "no answer";
    outcome.body.clear();
    return end_post(life, now + post.timeout, std::move(outcome));
  }
  outcome.kind = PostOutcome::Kind::kAnswered;
  outcome.status = 200;
  end_post(life, now + one.answers_in, std::move(outcome));
}

void FakeExecutors::end_post(std::uint64_t life, SteadyTime when, PostOutcome outcome) {
  task_runner_.post_at(when, [this, life, outcome = std::move(outcome)] {
    --under_way;
    if (receiver_ != nullptr && life == life_) receiver_->on_outcome(outcome);
  });
}

std::string FakeExecutors::answer(One& one, const std::string& path, const std::string& body) {
  if (!one.always_says.empty()) return one.always_says;
  if (path == "beat") return reply(200);
  if (path == one.lacks) {
    return reply(500, "invalid request, uri-mapping(/" + path + ") not found.");
  }
  std::string address;
  for (const auto& [known, other] : ones_) {
    if (other.get() == &one) address = known;
  }
  if (path == "run" || path == "trigger") {
    const wire::xxl::RunCall call = wire::xxl::read_run(body).value();
    one.calls.push_back(call);
    if (!one.refuses.empty()) return reply(500, one.refuses);
    if (!one.answers.empty()) return one.answers;
    one.taken.push_back(call);
    one.running[call.log_id] = {.call = call};
    task_runner_.post_at(clock_.steady_now() + one.run_time,
                         [this, address, log_id = call.log_id, code = one.code,
                          message = one.message] { end(address, log_id, code, message); });
    return reply(200);
  }
  const std::int64_t job = wire::xxl::read_job(body).value().job_id;
  std::vector<std::int64_t> its;
  for (const auto& [log_id, running] : one.running) {
    if (running.call.job_id == job) its.push_back(log_id);
  }
  if (path == "idleBeat") return reply(its.empty() || one.says_idle ? 200 : 500);
  for (const std::int64_t log_id : its) {
    task_runner_.post_at(clock_.steady_now() + kWay, [this, address, log_id] {
      end(address, log_id, 500, "killed by the admin");
    });
  }
  return reply(200);
}

void FakeExecutors::end(const std::string& address, std::int64_t log_id, std::int64_t code,
                        const std::string& message) {
  One& one = at(address);
  if (one.running.erase(log_id) == 0 || one.is_silent || !one.is_up) return;
  on_result({.log_id = log_id, .code = code, .message = message});
}

}  // namespace carillon::testing
