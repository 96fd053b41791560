#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "carillon/result.h"
#include "carillon/time.h"
#include "shared/base/clock.h"
#include "shared/net/poster.h"
#include "shared/net/transport.h"
#include "shared/runtime/event_loop.h"

namespace carillon::net {

// The content type of a frame in the HTTP API.
inline constexpr std::string_view kFrameType = "application/vnd.carillon.frame";

struct HttpFrameConfig {
  std::string url{};         // of the job tracker: "https://HOST[:PORT][/PATH]"
  std::string token_file{};  // with an API token; read again for each connection
  std::string ca_file{};     // PEM file with the authorities of an https URL; empty: the system's
  std::string ca_option = "--ca";  // the flag for it, named in errors
};

// Frames to a job tracker over its HTTP API: each is the body of a POST, whose answer has the frame
// that answers it. Several are under way at a time, so that they may arrive in any order.
//
// It counts as connected after an answer to a frame of its own, until a POST fails. Then it tries
// again until there is an answer. A frame is not sent again while it is under way.
//
// An answer without a frame that says that the frame was not taken is passed on as an ErrorReply.
// If it is unknown whether the frame was taken, only the connection is lost: the frame can be sent
// again, because changing requests have numbers.
//
// Thread: the loop.
class HttpFrameTransport final : public ClientTransport, private PostReceiver {
 public:
  // The references must outlive it. Error: kInvalidArgument for a wrong URL or file.
  static Result<std::unique_ptr<ClientTransport>> open(HttpFrameConfig config, EventLoop& loop,
                                                       const Clock& clock);
  // With a poster of another kind. For open() and tests.
  HttpFrameTransport(HttpFrameConfig config, TaskRunner& tasks, const Clock& clock,
                     std::unique_ptr<Poster> poster);
  ~HttpFrameTransport() override;
  HttpFrameTransport(const HttpFrameTransport&) = delete;
  HttpFrameTransport& operator=(const HttpFrameTransport&) = delete;

  void set_receiver(ClientReceiver* receiver) override { receiver_ = receiver; }
  // Error: kLimit also for a frame that is under way.
  Status send(std::string frame) override;
  bool is_connected() const override { return is_connected_; }

 private:
  void on_outcome(PostOutcome outcome) override;
  void on_hang_up(const std::string&) override {}
  void on_answer(std::uint64_t correlation, const PostOutcome& outcome, bool is_current);
  void refuse(std::uint64_t correlation, const Error& error);
  bool post(std::uint64_t correlation, std::string frame, Duration patience);
  void probe();
  void end_probe(const PostOutcome& outcome);
  void probe_later();
  void lose(const std::string& reason);

  const HttpFrameConfig config_;
  TaskRunner& tasks_;
  const Clock& clock_;
  ClientReceiver* receiver_ = nullptr;
  std::string token_{};
  bool is_connected_ = false;
  std::uint64_t connection_ = 0;                 // grows with each
  std::map<std::uint64_t, std::uint64_t> sent_;  // connections by correlation
  Duration pause_{};
  TimerId timer_ = 0;
  const std::unique_ptr<Poster> poster_;  // last, so that it ends first
};

}  // namespace carillon::net
