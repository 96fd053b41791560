#include "shared/net/zmq/zmq_transport.h"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/net/endpoint.h"
#include "shared/net/zmq/curve_keys.h"
#include "shared/net/zmq/token_file.h"
#include "shared/wire/messages.h"
#include "tests/support/may_skip.h"

namespace carillon::net {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr const char* kAnyPort = "tcp://127.0.0.1:0";

// A folder that goes with the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "carillon-zmq-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  ~TemporaryFolder() { fs::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  fs::path path() const { return path_; }

 private:
  fs::path path_;
};

Token new_token() {
  return {.server = make_key_pair().value().own, .client_secret = make_key_pair().value().secret};
}

// Remembers what arrived; sends everything back when told to.
struct ServerSide final : ServerReceiver {
  void on_frame(const Sender& sender, std::string_view frame) override {
    const Peer& peer = sender.peer;
    peers.push_back(peer);
    last = sender;
    frames.emplace_back(frame);
    if (echo_by != nullptr) {
      EXPECT_TRUE(echo_by->send(peer, std::string{frame}).ok());
    }
  }
  std::vector<Peer> peers;
  Sender last{};
  std::vector<std::string> frames;
  ServerTransport* echo_by = nullptr;
};

struct ClientSide final : ClientReceiver {
  void on_frame(std::string_view frame) override { frames.emplace_back(frame); }
  void on_connected() override { ++connects; }
  void on_disconnected(const std::string& reason) override { reasons.push_back(reason); }
  std::vector<std::string> frames;
  int connects = 0;
  std::vector<std::string> reasons;
};

class FrozenServer {
 public:
  FrozenServer() : listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* general = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_, general, size), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    EXPECT_EQ(::getsockname(listener_, general, &size), 0);
    endpoint_ = "tcp://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  ~FrozenServer() { ::close(listener_); }
  FrozenServer(const FrozenServer&) = delete;
  FrozenServer& operator=(const FrozenServer&) = delete;

  const std::string& endpoint() const { return endpoint_; }
  // On all connections, which it closes.
  void answer(std::string_view bytes) const {
    pollfd waiting{.fd = listener_, .events = POLLIN, .revents = 0};
    while (::poll(&waiting, 1, 0) > 0) {
      const int fd = ::accept(listener_, nullptr, nullptr);
      EXPECT_EQ(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL),
                static_cast<ssize_t>(bytes.size()));
      ::close(fd);
    }
  }
  void hang_up() const { answer({}); }

 private:
  const int listener_;
  std::string endpoint_{};
};

// A server and a client on one loop, with a runtime folder of their own.
struct Bundle {
  Bundle() { fs::permissions(folder.path(), fs::perms::owner_all); }

  void listen(const std::string& endpoint, const Access& access) {
    server = listen_zmq(loop, environment, endpoint, access).value();
    server->set_receiver(&server_side);
    server_side.echo_by = server.get();
  }
  void connect(const Access& access) { connect_to(server->endpoint(), access); }
  void connect_to(const std::string& endpoint, const Access& access) {
    client = connect_zmq(loop, clock, environment, endpoint, access).value();
    client->set_receiver(&client_side);
  }
  // Turns the loop until it is so; the answer says whether it came to that in time.
  bool eventually(const std::function<bool()>& is_so, Duration wait = seconds{10}) {
    const SteadyTime end = clock.steady_now() + wait;
    while (!is_so() && clock.steady_now() < end) loop.run_once(milliseconds{20});
    return is_so();
  }
  bool connects() {
    return eventually([&] { return client->is_connected(); });
  }
  std::string token_file() const {
    return token_path(environment, parse_endpoint(server->endpoint()).value().port);
  }

  TemporaryFolder folder;
  Environment environment{{{"XDG_RUNTIME_DIR", folder.path().string()}}};
  SystemClock clock;
  EventLoop loop{clock};
  ServerSide server_side;
  ClientSide client_side;
  std::unique_ptr<ServerTransport> server;
  std::unique_ptr<ClientTransport> client;
};

TEST(ZmqTransport, CarriesFramesBothWaysWithTheTokenOfThePort) {
  Bundle b;
  b.listen(kAnyPort, {});
  b.connect({});
  ASSERT_TRUE(b.connects());
  ASSERT_TRUE(b.client->send("hello").ok());
  ASSERT_TRUE(b.client->send(std::string("with\0zero", 9)).ok());
  ASSERT_TRUE(b.eventually([&] { return b.client_side.frames.size() == 2; }));
  EXPECT_THAT(b.client_side.frames, ElementsAre("hello", std::string("with\0zero", 9)));
  EXPECT_EQ(b.client_side.connects, 1);
  EXPECT_THAT(b.client_side.reasons, ElementsAre());
}

TEST(ZmqTransport, WritesItsTokenForItsUserOnlyAndRemovesIt) {
  Bundle b;
  b.listen(kAnyPort, {});
  const std::string path = b.token_file();
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  ASSERT_EQ(::stat(fs::path(path).parent_path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  b.server.reset();
  EXPECT_FALSE(fs::exists(path));
}

TEST(ZmqTransport, NamesThePrincipalAndTheAddressOfAFrame) {
  const auto sender_with = [](const Access& access) {
    Bundle b;
    const std::string keys = (b.folder.path() / "keys").string();
    if (!access.keys.empty()) {
      EXPECT_TRUE(make_keys(keys).ok());
    }
    const Access used{.keys = access.keys.empty() ? "" : keys, .insecure = access.insecure};
    b.listen(kAnyPort, used);
    b.connect(used);
    EXPECT_TRUE(b.connects());
    EXPECT_TRUE(b.client->send("hello").ok());
    EXPECT_TRUE(b.eventually([&] { return !b.server_side.frames.empty(); }));
    EXPECT_EQ(b.server_side.last.address, "127.0.0.1");
    return b.server_side.last.principal;
  };
  EXPECT_THAT(sender_with({}), StartsWith("local:"));
  EXPECT_THAT(sender_with({.keys = "keys"}), AllOf(StartsWith("file:"), EndsWith("client")));
  EXPECT_EQ(sender_with({.insecure = true}), "");
}

TEST(ZmqTransport, DeniesAWrongTokenAndReportsIt) {
  Bundle b;
  b.listen(kAnyPort, {});
  const std::string wrong = (b.folder.path() / "wrong" / "1.token").string();
  Token token = read_token(b.token_file()).value();
  token.client_secret = new_token().client_secret;
  ASSERT_TRUE(write_token(wrong, token).ok());
  b.connect({.token_file = wrong});
  ASSERT_TRUE(b.eventually([&] { return !b.client_side.reasons.empty(); }));
  EXPECT_THAT(b.client_side.reasons,
              ElementsAre("access denied: the token in " + wrong + " is not the job tracker's"));
  EXPECT_FALSE(b.client->is_connected());
  EXPECT_EQ(b.client->send("x").error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(b.server_side.frames, ElementsAre());
}

TEST(ZmqTransport, RefusesAServerThatDidNotWriteTheToken) {
  Bundle b;
  b.listen(kAnyPort, {});
  const std::string wrong = (b.folder.path() / "wrong" / "1.token").string();
  ASSERT_TRUE(write_token(wrong, new_token()).ok());
  b.connect({.token_file = wrong});
  ASSERT_TRUE(b.eventually([&] { return !b.client_side.reasons.empty(); }));
  EXPECT_THAT(b.client_side.reasons[0],
              StartsWith("access denied: the program that listens at " + b.server->endpoint() +
                         " is not the job tracker that wrote the token in " + wrong));
  EXPECT_FALSE(b.client->is_connected());
  EXPECT_THAT(b.server_side.frames, ElementsAre());
}

TEST(ZmqTransport, DeniesClientsWithoutATokenAndNamesTheSearchedFolder) {
  Bundle b;
  b.listen(kAnyPort, {});
  const TemporaryFolder others;
  b.client =
      connect_zmq(b.loop, b.clock, Environment{{{"XDG_RUNTIME_DIR", others.path().string()}}},
                  b.server->endpoint(), {})
          .value();
  b.client->set_receiver(&b.client_side);
  ASSERT_TRUE(b.eventually([&] { return !b.client_side.reasons.empty(); }));
  EXPECT_THAT(b.client_side.reasons[0], StartsWith("access denied: "));
  EXPECT_THAT(b.client_side.reasons[0], HasSubstr(others.path().string()));
  EXPECT_THAT(b.client_side.reasons[0], HasSubstr("--token-file"));
  EXPECT_THAT(b.client_side.reasons[0], Not(HasSubstr("is not the job tracker's")));
}

TEST(ZmqTransport, DistinguishesAForeignServerFromADenyingJobTracker) {
  Bundle b;
  const std::string keys = (b.folder.path() / "keys").string();
  ASSERT_TRUE(make_keys(keys).ok());
  const FrozenServer stranger;
  for (const Access& access : {Access{}, Access{.insecure = true}, Access{.keys = keys}}) {
    b.client_side.reasons.clear();
    b.connect_to(stranger.endpoint(), access);
    ASSERT_TRUE(b.eventually([&] {
      stranger.hang_up();
      return !b.client_side.reasons.empty();
    }));
    EXPECT_EQ(b.client_side.reasons[0],
              "the program that listens at " + stranger.endpoint() +
                  " does not speak Carillon's protocol (is it the --http port, or another "
                  "program's port? give the address of the job tracker's --listen)");
  }
}

TEST(ZmqTransport, RecognizesAServerThatAnswersInAnotherProtocol) {
  Bundle b;
  const FrozenServer stranger;
  b.connect_to(stranger.endpoint(), {});
  ASSERT_TRUE(b.eventually([&] {
    stranger.answer("HTTP/1.1 400 Bad Request\r\n\r\n");
    return !b.client_side.reasons.empty();
  }));
  EXPECT_THAT(b.client_side.reasons[0], HasSubstr("does not speak Carillon's protocol"));
}

TEST(ZmqTransport, AcceptsAClientWithTheTokenFile) {
  Bundle b;
  b.listen(kAnyPort, {});
  b.client = connect_zmq(b.loop, b.clock, Environment{}, b.server->endpoint(),
                         {.token_file = b.token_file()})
                 .value();
  EXPECT_TRUE(b.connects());
}

TEST(TokenFile, UsesTheServiceTokenOnlyWithoutAUserToken) {
  const TemporaryFolder folder;
  const TemporaryFolder services;
  const std::string own = (folder.path() / "own" / "1.token").string();
  const std::string of_service = (services.path() / "1.token").string();
  EXPECT_THAT(find_token(own, of_service).error().message, Not(HasSubstr(of_service)));
  const Token theirs = new_token();
  ASSERT_TRUE(write_token(of_service, theirs).ok());
  EXPECT_EQ(find_token(own, of_service).value().token, theirs);
  EXPECT_EQ(find_token(own, of_service).value().path, of_service);
  const Token mine = new_token();
  ASSERT_TRUE(write_token(own, mine).ok());
  EXPECT_EQ(find_token(own, of_service).value().token, mine);
}

TEST(TokenFile, NamesAServiceTokenThatIsOpenToOthers) {
  const TemporaryFolder folder;
  const TemporaryFolder services;
  const std::string own = (folder.path() / "own" / "1.token").string();
  const std::string of_service = (services.path() / "1.token").string();
  ASSERT_TRUE(write_token(of_service, new_token()).ok());
  fs::permissions(of_service, fs::perms::others_read, fs::perm_options::add);
  const Error error = find_token(own, of_service).error();
  EXPECT_THAT(error.message, HasSubstr((folder.path() / "own").string()));
  EXPECT_THAT(error.message,
              HasSubstr("; " + of_service + " is readable or writable by every user"));
}

TEST(ZmqTransport, DeniesAnInsecureClientAtASecureServer) {
  Bundle b;
  b.listen(kAnyPort, {});
  b.connect({.insecure = true});
  ASSERT_TRUE(b.eventually([&] { return !b.client_side.reasons.empty(); }));
  EXPECT_THAT(b.client_side.reasons[0], HasSubstr("access denied"));
}

TEST(ZmqTransport, AcceptsEveryInsecureClientAtAnInsecureServer) {
  Bundle b;
  b.listen(kAnyPort, {.insecure = true});
  b.connect({.insecure = true});
  EXPECT_TRUE(b.connects());
  EXPECT_FALSE(fs::exists(b.token_file()));
}

// Otherwise another user could take the port of a job tracker that has stopped.
TEST(ZmqTransport, RefusesAnInsecureServerUnlessToldOtherwise) {
  Bundle b;
  b.listen(kAnyPort, {.insecure = true});
  b.connect({});
  ASSERT_TRUE(b.eventually([&] { return !b.client_side.reasons.empty(); }));
  EXPECT_THAT(b.client_side.reasons[0], StartsWith("access denied: "));
  EXPECT_FALSE(b.client->is_connected());
}

TEST(ZmqTransport, RefusesNonLocalAddressesWithoutKeys) {
  Bundle b;
  for (const char* endpoint : {"tcp://0.0.0.0:0", "tcp://*:0", "tcp://[::]:0"}) {
    const auto server = listen_zmq(b.loop, b.environment, endpoint, {});
    ASSERT_FALSE(server.ok()) << endpoint;
    EXPECT_THAT(server.error().message, HasSubstr("--keys")) << endpoint;
  }
  const auto client = connect_zmq(b.loop, b.clock, b.environment, "tcp://10.1.2.3:35001", {});
  ASSERT_FALSE(client.ok());
  EXPECT_THAT(client.error().message, HasSubstr("--keys"));
}

TEST(ZmqTransport, RefusesATokenFolderThatIsOpenOrASymlink) {
  Bundle b;
  const fs::path folder = b.folder.path() / "carillon";
  fs::create_directory(folder);
  fs::permissions(folder, fs::perms::owner_all | fs::perms::others_read);
  auto open = listen_zmq(b.loop, b.environment, kAnyPort, {});
  ASSERT_FALSE(open.ok());
  EXPECT_EQ(open.error().code, ErrorCode::kDenied);
  EXPECT_THAT(open.error().message, HasSubstr("readable or writable by other users"));

  fs::remove(folder);
  const TemporaryFolder elsewhere;
  fs::create_directory_symlink(elsewhere.path(), folder);
  auto link = listen_zmq(b.loop, b.environment, kAnyPort, {});
  ASSERT_FALSE(link.ok());
  EXPECT_EQ(link.error().code, ErrorCode::kDenied);
}

TEST(ZmqTransport, RefusesATokenFolderOfAnotherUser) {
  constexpr const char* kWhy = "only root can give a folder away";
  if (::geteuid() != 0 && testing::may_skip()) GTEST_SKIP() << kWhy;
  ASSERT_EQ(::geteuid(), 0U) << kWhy;
  Bundle b;
  const fs::path folder = b.folder.path() / "carillon";
  fs::create_directory(folder);
  fs::permissions(folder, fs::perms::owner_all);
  ASSERT_EQ(::chown(folder.c_str(), 65534, 65534), 0);
  const auto server = listen_zmq(b.loop, b.environment, kAnyPort, {});
  ASSERT_FALSE(server.ok());
  EXPECT_EQ(server.error().code, ErrorCode::kDenied);
  EXPECT_THAT(server.error().message, HasSubstr("belongs to user 65534"));
}

TEST(ZmqTransport, ReportsAPortThatIsInUse) {
  Bundle b;
  b.listen(kAnyPort, {});
  const auto second = listen_zmq(b.loop, b.environment, b.server->endpoint(), {});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().message,
            "cannot listen on " + b.server->endpoint() +
                ": address in use (is another job tracker running? choose another with --listen)");
  EXPECT_TRUE(fs::exists(b.token_file())) << "the first one's token stays";
}

TEST(ZmqTransport, ConnectsWithKnownKeysOverAnyAddress) {
  Bundle b;
  const std::string keys = (b.folder.path() / "keys").string();
  ASSERT_TRUE(make_keys(keys).ok());
  b.listen("tcp://0.0.0.0:0", {.keys = keys});
  const auto port = parse_endpoint(b.server->endpoint()).value().port;
  b.connect_to("tcp://127.0.0.1:" + std::to_string(port), {.keys = keys});
  ASSERT_TRUE(b.connects());
  ASSERT_TRUE(b.client->send("sealed").ok());
  EXPECT_TRUE(b.eventually([&] { return b.client_side.frames.size() == 1; }));
}

TEST(ZmqTransport, SuggestsKeysToAClientWithoutAToken) {
  Bundle b;
  const std::string keys = (b.folder.path() / "keys").string();
  ASSERT_TRUE(make_keys(keys).ok());
  b.listen(kAnyPort, {.keys = keys});
  b.connect({});
  ASSERT_TRUE(b.eventually([&] { return !b.client_side.reasons.empty(); }));
  EXPECT_THAT(b.client_side.reasons[0], StartsWith("access denied: cannot "));
  EXPECT_THAT(b.client_side.reasons[0], HasSubstr(", or --keys DIR if it was started with keys)"));
  EXPECT_THAT(b.client_side.reasons[0], Not(HasSubstr("--http")));
}

TEST(ZmqTransport, DeniesAnUnknownKey) {
  Bundle b;
  const fs::path keys = b.folder.path() / "keys";
  ASSERT_TRUE(make_keys(keys.string()).ok());
  fs::remove(keys / "clients" / "client.pub");
  b.listen(kAnyPort, {.keys = keys.string()});
  b.connect({.keys = keys.string()});
  ASSERT_TRUE(b.eventually([&] { return !b.client_side.reasons.empty(); }));
  EXPECT_THAT(b.client_side.reasons[0], HasSubstr("access denied: the job tracker does not know"));
}

TEST(ZmqTransport, DetectsAServerWithOtherKeys) {
  Bundle b;
  const fs::path keys = b.folder.path() / "keys";
  const fs::path others = b.folder.path() / "others";
  ASSERT_TRUE(make_keys(keys.string()).ok());
  ASSERT_TRUE(make_keys(others.string()).ok());
  b.listen(kAnyPort, {.keys = keys.string()});
  b.connect({.keys = others.string()});
  ASSERT_TRUE(b.eventually([&] { return !b.client_side.reasons.empty(); }));
  EXPECT_FALSE(b.client->is_connected());
}

TEST(ZmqTransport, CarriesTheLargestFrameAndRefusesALargerOne) {
  Bundle b;
  b.listen(kAnyPort, {});
  b.connect({});
  ASSERT_TRUE(b.connects());
  ASSERT_TRUE(b.client->send(std::string(wire::kFrameBytesMax, 'x')).ok());
  ASSERT_TRUE(b.eventually([&] { return b.client_side.frames.size() == 1; }));
  EXPECT_THAT(b.client_side.frames[0], SizeIs(wire::kFrameBytesMax));
  EXPECT_EQ(b.client->send(std::string(wire::kFrameBytesMax + 1, 'x')).error().code,
            ErrorCode::kInvalidArgument);
}

TEST(ZmqTransport, KeepsEveryFrameOfAFloodInOrder) {
  constexpr int kFrames = 20'000;
  Bundle b;
  b.listen(kAnyPort, {});
  b.server_side.echo_by = nullptr;
  b.connect({});
  ASSERT_TRUE(b.connects());
  int sent = 0;
  const bool all = b.eventually(
      [&] {
        while (sent < kFrames && b.client->send(std::to_string(sent)).ok()) ++sent;
        return b.server_side.frames.size() == kFrames;
      },
      seconds{30});
  ASSERT_TRUE(all) << sent << " sent, " << b.server_side.frames.size() << " arrived";
  int out_of_order = 0;
  for (int i = 0; i < kFrames; ++i) {
    if (b.server_side.frames[static_cast<std::size_t>(i)] != std::to_string(i)) ++out_of_order;
  }
  EXPECT_EQ(out_of_order, 0);
}

TEST(ZmqTransport, ReportsLimitWhenThePeerDoesNotRead) {
  Bundle b;
  b.listen(kAnyPort, {});
  b.server_side.echo_by = nullptr;
  b.connect({});
  ASSERT_TRUE(b.connects());
  // Nobody turns the loop, so nobody reads.
  Status answer;
  for (int i = 0; i < 100'000 && answer.ok(); ++i) answer = b.client->send(std::string(1000, 'x'));
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, ErrorCode::kLimit);
}

TEST(ZmqTransport, ReconnectsToARestartedServerWithANewToken) {
  Bundle b;
  b.listen(kAnyPort, {});
  const std::string endpoint = b.server->endpoint();
  const Token before = read_token(b.token_file()).value();
  b.connect({});
  ASSERT_TRUE(b.connects());
  b.server.reset();
  ASSERT_TRUE(b.eventually([&] { return !b.client->is_connected(); }));
  ASSERT_TRUE(write_token(token_path(b.environment, parse_endpoint(endpoint).value().port), before)
                  .ok());  // As a killed server leaves it.
  EXPECT_EQ(b.client->send("lost").error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(b.client_side.reasons, ElementsAre("connection to " + endpoint + " closed"));

  b.listen(endpoint, {});
  const Token after = read_token(b.token_file()).value();
  EXPECT_NE(after.server, before.server);
  EXPECT_NE(after.client_secret, before.client_secret);
  ASSERT_TRUE(b.connects());
  ASSERT_TRUE(b.client->send("again").ok());
  ASSERT_TRUE(b.eventually([&] { return b.client_side.frames.size() == 1; }));
  EXPECT_EQ(b.client_side.connects, 2);
}

TEST(ZmqTransport, WaitsForAServerToStartAndReportsThatOnce) {
  Bundle b;
  b.listen(kAnyPort, {});
  const std::string endpoint = b.server->endpoint();
  b.server.reset();
  b.connect_to(endpoint, {});
  EXPECT_FALSE(b.eventually([&] { return b.client_side.reasons.size() > 1; }, seconds{1}));
  EXPECT_THAT(b.client_side.reasons,
              ElementsAre("no connection to " + endpoint + " (is the job tracker running?)"));
  b.listen(endpoint, {});
  EXPECT_TRUE(b.connects());
}

TEST(ZmqTransport, DistinguishesASilentServerFromADenyingOne) {
  Bundle b;
  // Its system takes the connection, and the process does nothing.
  const FrozenServer frozen;
  b.connect_to(frozen.endpoint(), {.insecure = true});
  ASSERT_TRUE(b.eventually([&] { return !b.client_side.reasons.empty(); }));
  EXPECT_THAT(b.client_side.reasons[0], StartsWith("no answer from " + frozen.endpoint()));
}

TEST(ZmqTransport, ReportsThatAPeerIsGone) {
  Bundle b;
  b.listen(kAnyPort, {});
  b.connect({});
  ASSERT_TRUE(b.connects());
  ASSERT_TRUE(b.client->send("hello").ok());
  ASSERT_TRUE(b.eventually([&] { return b.server_side.peers.size() == 1; }));
  const Peer peer = b.server_side.peers[0];
  EXPECT_TRUE(b.server->send(peer, "still there").ok());
  b.client.reset();
  ErrorCode code = ErrorCode::kLimit;
  EXPECT_TRUE(b.eventually([&] {
    const Status answer = b.server->send(peer, "gone?");
    if (!answer.ok()) code = answer.error().code;
    return code == ErrorCode::kNotFound;
  }));
  EXPECT_EQ(b.server->send("nobody", "x").error().code, ErrorCode::kNotFound);
}

// A connection without ZeroMQ.
class RawConnection {
 public:
  explicit RawConnection(const std::string& endpoint) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(parse_endpoint(endpoint).value().port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  ~RawConnection() { ::close(fd_); }
  RawConnection(const RawConnection&) = delete;
  RawConnection& operator=(const RawConnection&) = delete;

  void send(std::string_view bytes) const {
    EXPECT_EQ(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // Whether the other end has closed. Reads what there is.
  bool is_closed() {
    std::array<char, 512> buffer{};
    ssize_t got = 0;
    while ((got = ::recv(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT)) > 0) {
      received_.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return got == 0 || (errno != EAGAIN && errno != EINTR);
  }
  // Whether ZeroMQ's handshake is over, from when on frames may be sent.
  bool is_ready() { return !is_closed() && received_.find("READY") != std::string::npos; }

 private:
  std::string received_;
  int fd_;
};

// The start of ZeroMQ's protocol for a peer without any proof of who it is.
std::string null_greeting() {
  std::string greeting("\xff\0\0\0\0\0\0\0\1\x7f\3\0NULL", 16);
  greeting.resize(64, '\0');
  return greeting +
         std::string("\4\x29\5READY\x0bSocket-Type\0\0\0\6DEALER\x08Identity\0\0\0\0", 43);
}

TEST(ZmqTransport, SurvivesBytesOfAnotherProtocol) {
  Bundle b;
  b.listen(kAnyPort, {});
  RawConnection garbage(b.server->endpoint());
  garbage.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" + std::string(200, '\xee'));
  RawConnection other_access(b.server->endpoint());
  other_access.send(null_greeting());
  EXPECT_TRUE(b.eventually([&] { return garbage.is_closed() && other_access.is_closed(); }));
  b.connect({});
  EXPECT_TRUE(b.connects());
  EXPECT_THAT(b.server_side.frames, ElementsAre());
}

TEST(ZmqTransport, DropsAConnectionThatAnnouncesAnOversizedFrame) {
  Bundle b;
  b.listen(kAnyPort, {.insecure = true});
  RawConnection raw(b.server->endpoint());
  raw.send(null_greeting());
  ASSERT_TRUE(b.eventually([&] { return raw.is_ready(); }));
  raw.send(std::string("\0\2ok", 4));
  ASSERT_TRUE(b.eventually([&] { return b.server_side.frames.size() == 1; }));
  raw.send(std::string("\2\0\0\0\x7f\0\0\0\0", 9));  // half a terabyte follows, it says
  EXPECT_TRUE(b.eventually([&] { return raw.is_closed(); }));
  b.connect({.insecure = true});
  EXPECT_TRUE(b.connects());
}

TEST(ZmqTransport, DropsAMultipartMessage) {
  Bundle b;
  b.listen(kAnyPort, {.insecure = true});
  RawConnection raw(b.server->endpoint());
  raw.send(null_greeting());
  ASSERT_TRUE(b.eventually([&] { return raw.is_ready(); }));
  raw.send(std::string("\1\1a\0\1b\0\4good", 12));
  ASSERT_TRUE(b.eventually([&] { return !b.server_side.frames.empty(); }));
  EXPECT_THAT(b.server_side.frames, ElementsAre("good"));
}

}  // namespace
}  // namespace carillon::net
