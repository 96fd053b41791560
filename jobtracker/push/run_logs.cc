#include "jobtracker/push/run_logs.h"

#include <algorithm>

#include "jobtracker/push/executor_calls.h"
#include "shared/base/utf8.h"
#include "shared/wire/xxl/read.h"
#include "shared/wire/xxl/write.h"

namespace carillon::jobtracker {
namespace {

constexpr Duration kTimeout = std::chrono::seconds{10};
constexpr std::size_t kPartMax = 1024 * 1024;
// As JSON; the rest comes with the next part. Larger answers would block the loop.
constexpr std::size_t kAnswerMax = 2 * kPartMax;
constexpr std::string_view kLeftOut = " [the rest of this line was cut]\n";
// A position consists of a shard and a line of its log.
constexpr int kLineBits = 40;
constexpr std::int64_t kLineMask = (std::int64_t{1} << kLineBits) - 1;
// Ids of its requests, distinct from those of calls.
constexpr std::uint64_t kOwnIds = std::uint64_t{1} << 63;

std::int64_t position_of(std::int32_t shard, std::int64_t line) {
  return (std::int64_t{shard} << kLineBits) | std::min(line, kLineMask);
}

// Not kUnavailable: the job tracker and its store are reachable.
Error no_log_at(const std::string& address, const std::string& why) {
  return {ErrorCode::kConflict, "the log is stored on executor " + address + why};
}

Result<wire::xxl::LogPart> part_in(const net::PostOutcome& outcome) {
  // A large answer is not an error; the error text may be in the rest.
  if (outcome.is_cut) return wire::xxl::read_log_part(wire::xxl::end_cut_text(outcome.body));
  const wire::xxl::Reply reply = CARILLON_TRY(wire::xxl::read_reply(outcome.body));
  if (!reply.ok()) return Error{ErrorCode::kUnavailable, reply.message};
  return wire::xxl::read_log_part(outcome.body);
}

// Executors send everything; it is passed on in parts of complete lines. A longer line is cut.
void cut(wire::xxl::LogPart& part, std::int64_t line) {
  std::string& text = part.text;
  if (text.size() > kPartMax) {
    if (const std::size_t end = text.rfind('\n', kPartMax - 1); end != std::string::npos) {
      text.resize(end + 1);
    } else {
      text.resize(first_bytes(text, kPartMax - kLeftOut.size()).size());
      text += kLeftOut;
    }
  }
  const auto lines = std::count(text.begin(), text.end(), '\n');
  part.to_line = line + std::max<std::int64_t>(lines, 1);
}

}  // namespace

void RunLogs::note(JobId job, std::int32_t attempt, std::int32_t shard, Place place) {
  const Key key{attempt, shard};
  if (!places_[job].insert_or_assign(key, std::move(place)).second) return;
  noted_.emplace_back(job, key);
  if (noted_.size() <= calls_max_) return;
  const auto& [oldest, its_key] = noted_.front();
  const auto found = places_.find(oldest);
  found->second.erase(its_key);
  if (found->second.empty()) places_.erase(found);
  noted_.pop_front();
}

bool RunLogs::read(JobId job, std::int32_t attempt, std::int64_t position,
                   std::function<void(Result<ExecutorLogPart>)> on_part) {
  const auto found = places_.find(job);
  if (poster_ == nullptr || found == places_.end()) return false;
  const Key wanted{attempt, static_cast<std::int32_t>(position >> kLineBits)};
  const auto place = found->second.lower_bound(wanted);
  if (place == found->second.end()) {
    on_part(ExecutorLogPart{.attempt = attempt, .position = position});
  } else {
    ask(job, place, place->first == wanted ? position & kLineMask : 0, std::move(on_part));
  }
  return true;
}

// The calls of each attempt, oldest first, which is the order of shards.
bool RunLogs::recall(JobId job, const std::vector<LogEntry>& history) {
  std::map<std::int32_t, std::map<std::int64_t, Place>> calls;  // by attempt and log id
  for (const LogEntry& entry : history) {
    if (entry.executor_log == 0) continue;
    calls[entry.attempt][entry.executor_log] = {
        .log_id = entry.executor_log, .group = entry.group, .address = entry.node};
  }
  for (auto& [attempt, its] : calls) {
    std::int32_t shard = 0;
    for (auto& [log_id, place] : its) note(job, attempt, shard++, std::move(place));
  }
  return !calls.empty();
}

void RunLogs::ask(JobId job, Places::const_iterator place, std::int64_t line,
                  std::function<void(Result<ExecutorLogPart>)> on_part) {
  const auto& [key, where] = *place;
  const std::optional<Caller> caller = caller_(where);
  if (!caller) {
    return pass_over({.job = job, .key = key, .on_part = std::move(on_part)},
                     no_log_at(where.address, ", which is not in service"));
  }
  net::Post post = post_to(where.address, "log",
                           wire::xxl::write_log({.log_id = where.log_id,
                                                 .log_time_ms = log_time_ms(where.log_id),
                                                 .from_line = line + 1}),
                           caller->token, caller->app_name, kTimeout);
  post.id = kOwnIds | ++last_reading_;
  post.answer_max = kAnswerMax;
  post.cuts_answer = true;
  const std::uint64_t id = post.id;
  if (!poster_->post(std::move(post)))
    return on_part(
        Error{ErrorCode::kLimit, "too many calls to executors are in progress, try again"});
  readings_.emplace(id, Reading{.job = job,
                                .key = key,
                                .line = line,
                                .on_part = std::move(on_part),
                                .address = where.address});
}

bool RunLogs::on_outcome(const net::PostOutcome& outcome) {
  const auto found = readings_.find(outcome.id);
  if (found == readings_.end()) return (outcome.id & kOwnIds) != 0;
  Reading reading = std::move(found->second);
  readings_.erase(found);
  answer(std::move(reading), outcome);
  return true;
}

// An unreadable log does not block the following ones.
void RunLogs::pass_over(const Reading& reading, const Error& why) {
  const auto& [attempt, shard] = reading.key;
  const auto places = places_.find(reading.job);
  const bool is_last =
      places == places_.end() || places->second.upper_bound(reading.key) == places->second.end();
  if (is_last) return reading.on_part(why);
  reading.on_part(ExecutorLogPart{.attempt = attempt,
                                  .position = position_of(shard + 1, 0),
                                  .text = "[" + why.message + "]\n"});
}

void RunLogs::answer(Reading reading, const net::PostOutcome& outcome) {
  if (outcome.kind != net::PostOutcome::Kind::kAnswered) {
    const std::string why = ", which cannot be reached: " + outcome.error;
    return pass_over(reading, no_log_at(reading.address, why));
  }
  Result<wire::xxl::LogPart> read = part_in(outcome);
  if (!read.ok())
    return pass_over(reading, no_log_at(reading.address, ": " + read.error().message));
  wire::xxl::LogPart& part = read.value();
  // At the end some executors count on and some do not, and a missing file has a special text.
  if (outcome.is_cut || part.text.size() > kPartMax) cut(part, reading.line);
  const bool has_more = part.to_line > reading.line && !part.text.empty();
  if (!has_more) {
    const auto places = places_.find(reading.job);
    if (places != places_.end()) {
      const auto next = places->second.upper_bound(reading.key);
      if (next != places->second.end()) {
        return ask(reading.job, next, 0, std::move(reading.on_part));
      }
    }
  }
  reading.on_part(ExecutorLogPart{
      .attempt = reading.key.first,
      .position = position_of(reading.key.second, has_more ? part.to_line : reading.line),
      .text = has_more ? std::move(part.text) : std::string{}});
}

}  // namespace carillon::jobtracker
