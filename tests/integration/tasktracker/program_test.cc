#include <array>
#include <csignal>
#include <memory>
#include <optional>
#include <variant>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "shared/net/zmq/zmq_transport.h"
#include "shared/runtime/event_loop.h"
#include "shared/wire/codec.h"
#include "tests/integration/tasktracker/alive.h"
#include "tests/support/temp_folder.h"

namespace carillon::tasktracker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

// The program, with what it has said so far.
class Program {
 public:
  Program(std::vector<std::string> arguments, const std::string& home) {
    int out[2] = {-1, -1};
    int err[2] = {-1, -1};
    EXPECT_EQ(::pipe2(out, O_CLOEXEC | O_NONBLOCK), 0);
    EXPECT_EQ(::pipe2(err, O_CLOEXEC | O_NONBLOCK), 0);
    arguments.insert(arguments.begin(), CARILLON_BIN_DIR "/tasktracker");
    const std::vector<std::string> variables{"PATH=/usr/bin:/bin", "HOME=" + home,
                                             "XDG_RUNTIME_DIR=" + home};
    const auto argv = pointers(arguments);
    const auto environment = pointers(variables);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(out[1], STDOUT_FILENO);
      ::dup2(err[1], STDERR_FILENO);
      ::execve(argv[0], argv.data(), environment.data());
      ::_exit(127);
    }
    ::close(out[1]);
    ::close(err[1]);
    out_fd_ = out[0];
    err_fd_ = err[0];
  }
  ~Program() {
    if (!status_) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    ::close(out_fd_);
    ::close(err_fd_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void signal(int number) const { ::kill(pid_, number); }
  // Its exit status, once it has ended.
  std::optional<int> status() {
    int status = 0;
    if (!status_ && ::waitpid(pid_, &status, WNOHANG) == pid_) status_ = WEXITSTATUS(status);
    return status_;
  }
  const std::string& out() { return read_all(out_fd_, out_); }
  const std::string& err() { return read_all(err_fd_, err_); }

 private:
  static std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
    result.push_back(nullptr);
    return result;
  }
  static const std::string& read_all(int fd, std::string& text) {
    std::array<char, 4096> part{};
    ssize_t got = 0;
    while ((got = ::read(fd, part.data(), part.size())) > 0) {
      text.append(part.data(), static_cast<std::size_t>(got));
    }
    return text;
  }

  pid_t pid_ = -1;
  int out_fd_ = -1;
  int err_fd_ = -1;
  std::string out_{};
  std::string err_{};
  std::optional<int> status_{};
};

constexpr std::int64_t kTrackerSession = 1;

// The least that a worker needs of a job tracker, over a real socket.
class Server final : public net::ServerReceiver {
 public:
  explicit Server(const std::string& runtime_folder)
      : transport_(
            std::move(net::listen_zmq(loop_, Environment{{{"XDG_RUNTIME_DIR", runtime_folder}}},
                                      "tcp://127.0.0.1:0", {}))
                .value()) {
    transport_->set_receiver(this);
  }

  std::string endpoint() const { return transport_->endpoint(); }

  void on_frame(const net::Sender& sender, std::string_view frame) override {
    const net::Peer& peer = sender.peer;
    auto envelope = wire::decode(frame);
    ASSERT_TRUE(envelope.ok()) << envelope.error().message;
    const std::uint64_t correlation = envelope.value().correlation;
    wire::Message& message = envelope.value().message;
    if (auto* registration = std::get_if<wire::Register>(&message)) {
      registered = *registration;
      answer(peer, correlation, wire::Registered{seconds{3}, milliseconds{200}, kTrackerSession});
    } else if (auto* pull = std::get_if<wire::Pull>(&message)) {
      answer(peer, correlation, wire::Pulled{pull->number});
      if (to_hand_out) {
        wire::HandOut hand_out{.session = pull->session,
                               .number = 1,
                               .pull = pull->number,
                               .tracker_session = kTrackerSession};
        hand_out.jobs.push_back(std::move(*to_hand_out));
        to_hand_out.reset();
        answer(peer, 0, std::move(hand_out));
      }
    } else if (auto* written = std::get_if<wire::Output>(&message)) {
      for (const wire::OutputChunk& chunk : written->chunks) output += chunk.bytes;
      answer(peer, correlation,
             wire::OutputTaken{static_cast<std::int64_t>(written->chunks.size())});
    } else if (auto* report = std::get_if<wire::Report>(&message)) {
      wire::Reported reported;
      for (const wire::RunResult& each : report->results) {
        result = each;
        reported.done.push_back(each.id);
      }
      answer(peer, correlation, std::move(reported));
    } else if (std::holds_alternative<wire::Bye>(message)) {
      said_bye = true;
      answer(peer, correlation, wire::Gone{});
    }
  }

  // Turns the loop until it is so. False: it was not, for ten seconds.
  template <class IsSo>
  bool until(IsSo is_so) {
    const SteadyTime limit = clock_.steady_now() + seconds{10};
    while (!is_so()) {
      if (clock_.steady_now() > limit) return false;
      loop_.run_once(milliseconds{10});
    }
    return true;
  }
  void submit(const std::string& shell) {
    JobSpec spec;
    spec.run = {.kind = RunKind::kShell, .shell = shell};
    to_hand_out =
        wire::HandedJob{.id = {JobId{1}, 1}, .task_id = "t", .spec = wire::encode_spec(spec)};
  }

  std::optional<wire::Register> registered{};
  std::optional<wire::HandedJob> to_hand_out{};
  std::optional<wire::RunResult> result{};
  std::string output{};
  bool said_bye = false;

 private:
  void answer(const net::Peer& peer, std::uint64_t correlation, wire::Message message) {
    EXPECT_TRUE(transport_->send(peer, wire::encode({correlation, std::move(message)})).ok());
  }

  SystemClock clock_;
  EventLoop loop_{clock_};
  std::unique_ptr<net::ServerTransport> transport_;
};

struct ProgramBundle {
  testing::TempFolder folder;
  Server server{folder.path().string()};

  Program start(std::vector<std::string> more = {}) {
    more.insert(more.begin(),
                {"--tracker", server.endpoint(), "--name", "host-1", "--threads", "2"});
    return Program(std::move(more), folder.path().string());
  }
};

TEST(TasktrackerProgram, PrintsOneReadyLineAndStopsCleanly) {
  ProgramBundle b;
  Program program = b.start({"--label", "zone=a", "--allow", "handler,shell"});
  const std::string ready =
      "tasktracker: ready group=default name=host-1 threads=2 tracker=" + b.server.endpoint() +
      "\n";
  ASSERT_TRUE(b.server.until([&] { return program.out() == ready; })) << program.err();
  EXPECT_EQ(b.server.registered->labels.at("zone"), "a");
  EXPECT_THAT(b.server.registered->allow, ::testing::ElementsAre("handler", "shell"));
  program.signal(SIGTERM);
  ASSERT_TRUE(b.server.until([&] { return program.status().has_value(); }));
  EXPECT_EQ(program.status(), 0);
  EXPECT_TRUE(b.server.said_bye);
  EXPECT_EQ(program.out(), ready) << "and nothing else on stdout";
}

TEST(TasktrackerProgram, FinishesItsRunAfterTheFirstSignal) {
  ProgramBundle b;
  b.server.submit("echo begun; sleep 0.5; echo end");
  Program program = b.start();
  ASSERT_TRUE(b.server.until([&] { return b.server.output == "begun\n"; }));
  program.signal(SIGINT);
  ASSERT_TRUE(b.server.until([&] { return program.status().has_value(); }));
  EXPECT_EQ(program.status(), 0);
  ASSERT_TRUE(b.server.result);
  EXPECT_EQ(b.server.result->outcome, wire::RunOutcome::kSucceeded);
  EXPECT_EQ(b.server.output, "begun\nend\n");
}

TEST(TasktrackerProgram, StopsAtOnceAfterTheSecondSignal) {
  ProgramBundle b;
  b.server.submit("echo begun; sleep 60");
  Program program = b.start();
  ASSERT_TRUE(b.server.until([&] { return b.server.output == "begun\n"; }));
  program.signal(SIGTERM);
  ASSERT_TRUE(b.server.until([&] { return program.err().find("stopping") != std::string::npos; }));
  program.signal(SIGINT);
  ASSERT_TRUE(b.server.until([&] { return program.status().has_value(); }));
  EXPECT_EQ(program.status(), 0);
  EXPECT_EQ(b.server.result->outcome, wire::RunOutcome::kLater);
}

TEST(TasktrackerProgram, ProcessGroupsOfItsRunsDieWithIt) {
  ProgramBundle b;
  b.server.submit("sleep 300 & echo $!; wait");
  Program program = b.start();
  ASSERT_TRUE(b.server.until([&] { return b.server.output.find('\n') != std::string::npos; }));
  const pid_t grandchild = std::stoi(b.server.output);
  EXPECT_TRUE(is_alive(grandchild));
  program.signal(SIGKILL);
  EXPECT_TRUE(b.server.until([&] { return !is_alive(grandchild); }));
}

TEST(TasktrackerProgram, ReportsAMissingJobTrackerOnceAndStillStops) {
  const testing::TempFolder folder;
  SystemClock clock;
  EventLoop loop(clock);
  Program program({"--tracker", "tcp://127.0.0.1:1"}, folder.path().string());
  const auto until = [&](auto is_so) {
    for (int i = 0; i < 1000 && !is_so(); ++i) loop.run_once(milliseconds{10});
    return is_so();
  };
  ASSERT_TRUE(until(
      [&] { return program.err().find("cannot reach the job tracker") != std::string::npos; }));
  for (int i = 0; i < 50; ++i) loop.run_once(milliseconds{10});
  const std::string& said = program.err();
  EXPECT_EQ(said.find("cannot reach the job tracker"), said.rfind("cannot reach the job tracker"))
      << said;
  program.signal(SIGTERM);
  ASSERT_TRUE(until([&] { return program.status().has_value(); }));
  EXPECT_EQ(program.status(), 0);
  EXPECT_EQ(program.out(), "");
}

TEST(TasktrackerProgram, ExplainsWhatToDoWhenAccessIsDenied) {
  ProgramBundle b;
  const testing::TempFolder other;  // where there is no token
  Program program({"--tracker", b.server.endpoint()}, other.path().string());
  ASSERT_TRUE(
      b.server.until([&] { return program.err().find("access denied") != std::string::npos; }));
  EXPECT_THAT(program.err(), HasSubstr("--token-file"));
  EXPECT_THAT(program.out(), Not(HasSubstr("ready")));
}

class Usage : public ::testing::TestWithParam<std::pair<std::vector<std::string>, std::string>> {};

TEST_P(Usage, ErrorExitsWithStatusTwoAndTheReason) {
  const testing::TempFolder folder;
  SystemClock clock;
  EventLoop loop(clock);
  Program program(GetParam().first, folder.path().string());
  for (int i = 0; i < 1000 && !program.status(); ++i) loop.run_once(milliseconds{10});
  EXPECT_EQ(program.status(), 2);
  EXPECT_THAT(program.err(), HasSubstr("tasktracker: "));
  EXPECT_THAT(program.err(), HasSubstr(GetParam().second));
}

INSTANTIATE_TEST_SUITE_P(
    Mistakes, Usage,
    ::testing::Values(std::pair{std::vector<std::string>{"--nonsense"}, "nonsense"},
                      std::pair{std::vector<std::string>{"--threads", "0"}, "threads"},
                      std::pair{std::vector<std::string>{"--name", ""},
                                "--name: '' is empty (leave it out for host and process)"},
                      std::pair{std::vector<std::string>{"--output-max", "0"},
                                "--output-max: 0 is too small, the minimum is 1"},
                      std::pair{std::vector<std::string>{"--allow", "magic"}, "magic"},
                      std::pair{std::vector<std::string>{"--label", "zone"}, "KEY=VALUE"},
                      std::pair{std::vector<std::string>{"--group", "a b"}, "group 'a b'"},
                      std::pair{std::vector<std::string>{"--tracker", "nowhere"}, "nowhere"},
                      std::pair{std::vector<std::string>{"--tracker", "tcp://192.0.2.1:1"},
                                "--keys"}));

}  // namespace
}  // namespace carillon::tasktracker
