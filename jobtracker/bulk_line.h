#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "shared/net/transport.h"

namespace carillon::jobtracker {

// Where large submissions wait, as they came, until the store can take more of them: so that task
// trackers and those who submit single jobs never wait behind them, and what waits costs no more
// memory than its bytes.
//
// Thread: the loop.
class BulkLine {
 public:
  struct Frame {
    net::Peer peer{};
    std::uint64_t correlation = 0;
    std::string bytes{};
  };

  // Whether a frame is to wait here.
  static bool takes(std::string_view frame);

  // False: the line is full. One that waits here already, sent again, is not kept twice.
  bool put(const net::Peer& peer, std::string_view frame);
  // Of those that wait the one that came first.
  std::optional<Frame> next();

  bool empty() const { return frames_.empty(); }

 private:
  std::deque<Frame> frames_{};
  std::size_t bytes_ = 0;
};

}  // namespace carillon::jobtracker
