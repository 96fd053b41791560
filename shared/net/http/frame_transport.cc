#include "shared/net/http/frame_transport.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>

#include "shared/base/secret_file.h"
#include "shared/net/http/http_poster.h"
#include "shared/net/http_url.h"
#include "shared/wire/codec.h"
#include "shared/wire/messages.h"
#include "shared/wire/problem_json.h"

namespace carillon::net {
namespace {

constexpr std::string_view kPath = "/api/v1/frames";
constexpr std::uint64_t kProbe = std::numeric_limits<std::uint64_t>::max();
// Longer than a job tracker waits for feedback.
constexpr Duration kPatience = std::chrono::seconds{15};
constexpr Duration kProbePatience = std::chrono::seconds{8};
constexpr Duration kPauseMin = std::chrono::milliseconds{100};
constexpr Duration kPauseMax = std::chrono::seconds{1};
constexpr std::size_t kAnswerMax = wire::kFrameBytesMax + 64 * 1024;

// How the reason for a lost connection begins that is about access; see ClientReceiver.
constexpr const char* kDenied = "access denied: ";

// An answer without a frame.
Error error_of(const PostOutcome& outcome, const std::string& url) {
  if (auto problem = wire::problem_from_json(outcome.body)) return *std::move(problem);
  const std::string status = url + " answers with HTTP status " + std::to_string(outcome.status);
  if (outcome.status >= 300 && outcome.status <= 399)
    return {ErrorCode::kUnavailable, status + " (give the address that it leads to)"};
  if (outcome.status == 401 || outcome.status == 403) return {ErrorCode::kDenied, status};
  if (outcome.status == 413) return {ErrorCode::kInvalidArgument, status + ": too large"};
  if (outcome.status == 429) return {ErrorCode::kLimit, status};
  return {ErrorCode::kUnavailable, status + " (is it the address of a job tracker?)"};
}

// Whether it says that the frame was not taken; otherwise the outcome is unknown.
bool is_refusal(int status) { return status < 500 || status == 503; }

Result<std::string> read_token(const std::string& file) {
  std::string token = CARILLON_TRY(read_secret_file(file));
  const bool is_one =
      std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  if (!is_one) return Error{ErrorCode::kInvalidArgument, file + " has more than a token"};
  return token;
}

}  // namespace

Result<std::unique_ptr<ClientTransport>> HttpFrameTransport::open(HttpFrameConfig config,
                                                                  EventLoop& loop,
                                                                  const Clock& clock) {
  const HttpUrl url = CARILLON_TRY(parse_http_url(config.url));
  config.url = url.server() + url.path;
  auto poster = CARILLON_TRY(
      HttpPoster::start({.ca_file = config.ca_file, .ca_option = config.ca_option}, loop, clock));
  std::unique_ptr<ClientTransport> transport =
      std::make_unique<HttpFrameTransport>(std::move(config), loop, clock, std::move(poster));
  return transport;
}

HttpFrameTransport::HttpFrameTransport(HttpFrameConfig config, TaskRunner& tasks,
                                       const Clock& clock, std::unique_ptr<Poster> poster)
    : config_(std::move(config)), tasks_(tasks), clock_(clock), poster_(std::move(poster)) {
  poster_->set_receiver(this);
  // Not before there is a receiver.
  timer_ = tasks_.post_at(clock_.steady_now(), [this] { probe(); });
}

HttpFrameTransport::~HttpFrameTransport() {
  poster_->set_receiver(nullptr);
  if (timer_ != 0) tasks_.cancel(timer_);
}

Status HttpFrameTransport::send(std::string frame) {
  if (!is_connected_) return Error{ErrorCode::kUnavailable, "not connected to " + config_.url};
  const std::uint64_t correlation = wire::correlation_of(frame);
  if (sent_.contains(correlation))
    return Error{ErrorCode::kLimit, "the frame is under way to " + config_.url};
  if (!post(correlation, std::move(frame), kPatience))
    return Error{ErrorCode::kLimit, "too many frames are under way to " + config_.url};
  sent_[correlation] = connection_;
  return {};
}

bool HttpFrameTransport::post(std::uint64_t correlation, std::string frame, Duration patience) {
  return poster_->post({.id = correlation,
                        .url = config_.url + std::string{kPath},
                        .headers = {{"Content-Type", std::string{kFrameType}},
                                    {"Authorization", "Bearer " + token_}},
                        .body = std::move(frame),
                        .timeout = patience,
                        .answer_max = kAnswerMax});
}

void HttpFrameTransport::probe() {
  timer_ = 0;
  Result<std::string> token = read_token(config_.token_file);
  if (!token.ok()) {
    if (receiver_ != nullptr) receiver_->on_disconnected(kDenied + token.error().message);
    return probe_later();
  }
  token_ = std::move(token).value();
  if (!post(kProbe, wire::encode({kProbe, wire::Query{.what = "whoami"}}), kProbePatience))
    probe_later();
}

void HttpFrameTransport::probe_later() {
  pause_ = pause_ == Duration{} ? kPauseMin : std::min(2 * pause_, kPauseMax);
  timer_ = tasks_.post_at(clock_.steady_now() + pause_, [this] { probe(); });
}

void HttpFrameTransport::end_probe(const PostOutcome& outcome) {
  std::string reason;
  if (outcome.kind != PostOutcome::Kind::kAnswered) {
    reason = outcome.error;
  } else if (outcome.status != 200) {
    const Error error = error_of(outcome, config_.url);
    reason = (error.code == ErrorCode::kDenied ? kDenied : "") + error.message;
  } else if (const auto answer = wire::decode(outcome.body); !answer.ok()) {
    reason = config_.url + " answers something else (is it the address of a job tracker?)";
  } else if (const auto* refused = std::get_if<wire::ErrorReply>(&answer.value().message)) {
    reason = (refused->error.code == ErrorCode::kDenied ? kDenied : "") + refused->error.message;
  }
  if (!reason.empty()) {
    if (receiver_ != nullptr) receiver_->on_disconnected(reason);
    return probe_later();
  }
  is_connected_ = true;
  ++connection_;
  pause_ = {};
  if (receiver_ != nullptr) receiver_->on_connected();
}

void HttpFrameTransport::on_outcome(PostOutcome outcome) {
  if (outcome.id == kProbe) return end_probe(outcome);
  const auto found = sent_.find(outcome.id);
  if (found == sent_.end()) return;
  const bool is_current = is_connected_ && found->second == connection_;
  sent_.erase(found);
  if (outcome.kind == PostOutcome::Kind::kAnswered)
    return on_answer(outcome.id, outcome, is_current);
  if (outcome.kind == PostOutcome::Kind::kNotSent)
    refuse(outcome.id, {ErrorCode::kUnavailable, outcome.error});
  if (is_current && !outcome.is_crowded) lose(outcome.error);
}

void HttpFrameTransport::on_answer(std::uint64_t correlation, const PostOutcome& outcome,
                                   bool is_current) {
  if (outcome.status == 200 && wire::correlation_of(outcome.body) == correlation) {
    if (receiver_ != nullptr) receiver_->on_frame(outcome.body);
    return;
  }
  const Error error = error_of(outcome, config_.url);
  const bool is_unknown_token = outcome.status == 401;
  if (is_unknown_token) {
    // Perhaps the file has another one now: it is sent again over the next connection.
    refuse(correlation, {ErrorCode::kUnavailable, error.message});
  } else if (outcome.status != 200 && is_refusal(outcome.status)) {
    return refuse(correlation, error);
  }
  if (is_current) lose((is_unknown_token ? kDenied : "") + error.message);
}

void HttpFrameTransport::refuse(std::uint64_t correlation, const Error& error) {
  if (receiver_ != nullptr)
    receiver_->on_frame(wire::encode({correlation, wire::ErrorReply{error}}));
}

void HttpFrameTransport::lose(const std::string& reason) {
  if (!is_connected_) return;
  is_connected_ = false;
  if (receiver_ != nullptr) receiver_->on_disconnected(reason);
  probe_later();
}

}  // namespace carillon::net
