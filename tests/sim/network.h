#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "shared/net/transport.h"
#include "tests/sim/chance.h"
#include "tests/sim/digest.h"
#include "tests/sim/process.h"

namespace carillon::sim {

// Between processes. Frames of one connection keep their order, as the port promises; all else may
// happen: they come late, not at all, or, when a connection breaks, after those of the next one;
// whoever was not answered sends again, so what came late comes twice. A side may be cut off with
// its connections standing, and a server may not notice that a peer is gone. Something between the
// two may repeat frames.
//
// Thread: the simulation's.
class Network {
 public:
  // `repeat_chance`: what frames draw that are repeated.
  Network(Timeline& timeline, Chance& chance, Chance& repeat_chance, Digest& digest)
      : timeline_(timeline), chance_(chance), repeat_chance_(repeat_chance), digest_(digest) {}

  std::unique_ptr<net::ServerTransport> listen(Process& server, const std::string& endpoint);
  std::unique_ptr<net::ClientTransport> connect(Process& client, const std::string& endpoint);

  // ---- faults ----
  // Breaks every connection of a process; what is under way arrives late or never.
  void cut(const Process& process);
  // Nothing passes between the two, or between a process and everybody (`other` null). What is sent
  // meanwhile waits, or is lost with its connection if that takes long.
  void part(const Process& process, const Process* other, Duration time);
  // Frames to, or from, a process are lost, though its connections stand; then they break.
  void lose_frames(const Process& process, bool to_it, Duration time);
  // Many frames to, or from, a process come a second time, later than some that were sent after
  // them: to a client over its connection, to a server as if over another one.
  void repeat_frames(const Process& process, bool to_it, Duration time);
  // Every frame takes so much longer at most.
  void slow_down(Duration more, Duration time);
  void heal();

  // Every frame as it leaves a server, and as it is taken or sent by a client; `line`: the
  // connection, the same for both of its sides.
  using OnFrame =
      std::function<void(Process& process, const net::Peer& line, std::string_view frame)>;
  OnFrame on_server_sends;
  std::function<void(Process& server, std::string_view frame)> on_server_takes;
  OnFrame on_client_sends;
  OnFrame on_client_takes;

  std::size_t frames() const { return frames_; }

  // What every frame takes.
  Duration latency_min = std::chrono::microseconds{50};
  Duration latency_max = std::chrono::milliseconds{3};

 private:
  class Server;
  class Client;
  // A connection.
  struct Line {
    net::Peer peer{};
    std::string endpoint{};
    std::uint64_t server_life = 0;
    Process* client_process = nullptr;
    Process* server_process = nullptr;
    Client* client = nullptr;  // null: it is gone, or has another line
    Server* server = nullptr;  // null: it is gone
    SteadyTime to_server{};    // when the last frame gets there
    SteadyTime to_client{};
    bool comes_late = false;  // broken, and what is under way arrives all the same
  };
  using LinePtr = std::shared_ptr<Line>;
  struct Parting {
    const Process* one = nullptr;
    const Process* other = nullptr;  // null: everybody
    SteadyTime until{};
  };
  // Of frames to, or from, a process.
  struct Spell {
    const Process* process = nullptr;
    bool to_it = false;
    SteadyTime until{};
  };

  Duration latency();
  void to_server(const LinePtr& line, std::string frame);
  void to_client(const LinePtr& line, std::string frame);
  void break_line(const LinePtr& line, const std::string& reason);
  void to_client_at(const LinePtr& line, SteadyTime when, std::string frame);
  bool is_under(const std::vector<Spell>& spells, const Process* from, const Process* to) const;
  // Begins one, without those that are over.
  SteadyTime cast(std::vector<Spell>& spells, const Process& process, bool to_it, Duration time);
  // When a frame that comes at that time comes again, if it does.
  std::optional<SteadyTime> comes_again(const Process* from, const Process* to, SteadyTime at);
  // When a frame sent now can pass; now, unless the two are parted.
  SteadyTime passes_at(const Process* one, const Process* other);
  void try_to_connect(Client& client);
  void try_all();
  std::vector<LinePtr> lines_of(const Process& process);

  Timeline& timeline_;
  Chance& chance_;
  Chance& repeat_chance_;
  Digest& digest_;
  std::map<std::string, Server*> servers_;
  std::set<std::pair<std::uint64_t, Client*>> clients_;  // by age, so that a replay is the same
  std::map<std::uint64_t, LinePtr> lines_;
  std::vector<Parting> partings_;
  std::vector<Spell> losses_;
  std::vector<Spell> repeats_;
  Duration slower_{};
  SteadyTime slower_until_{};
  std::uint64_t last_life_ = 0;
  std::uint64_t last_line_ = 0;
  std::uint64_t last_client_ = 0;
  std::size_t frames_ = 0;
};

}  // namespace carillon::sim
