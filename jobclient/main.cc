#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <poll.h>
#include <pwd.h>
#include <unistd.h>

#include "jobclient/cli/program.h"
#include "jobclient/cli/web_page.h"
#include "shared/base/folders.h"
#include "shared/base/hidden_arguments.h"
#include "shared/sql/mysql/mysql_connection.h"

namespace carillon::cli {
namespace {

std::string user_name() {
  const passwd* const entry = ::getpwuid(::geteuid());
  return entry == nullptr ? std::string{} : entry->pw_name;
}

void pause(Duration time) {
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(time);
  ::poll(nullptr, 0, static_cast<int>(milliseconds.count()));
}

Result<std::unique_ptr<sql::Connection>> open_database(const std::string& url,
                                                       const std::string& if_missing) {
  const sql::MysqlUrl parsed = CARILLON_TRY(sql::parse_mysql_url(url));
  std::unique_ptr<sql::Connection> connection =
      CARILLON_TRY(sql::MysqlConnection::open(parsed, sql::MysqlOptions{.if_missing = if_missing}));
  return connection;
}

int run(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const Environment environment = Environment::of_process();
  const Result<std::string> found = state_folder(environment, "jobclient");
  const std::string default_data = found.ok() ? found.value() : "";
  const Program program = declare_program(default_data);
  hide_secret_arguments(program, argc, argv);
  const SystemClock clock;
  const Surroundings around{
      .program = program,
      .clock = clock,
      .out = std::cout,
      .err = std::cerr,
      .input = STDIN_FILENO,
      .terminal = Terminal::of_process(environment),
      .zone = local_zone(environment),
      .user = user_name(),
      .state_folder = default_data,
      .open_client =
          [](const Configuration& configuration, Surroundings::OnDelivered on_delivered) {
            JobClientOptions options = client_options(configuration);
            options.on_delivered = std::move(on_delivered);
            return JobClient::open(options);
          },
      .open_database = open_database,
      .pause = pause,
      .open_page = [&](const std::string& url) { open_web_page(environment, default_data, url); }};
  const int status = run_program(arguments, environment, around);
  std::cout.flush();
  if (!std::cout && status == kDone) {
    std::cerr << "jobclient: " << kCannotWrite << '\n';
    return kRefused;
  }
  return status;
}

}  // namespace
}  // namespace carillon::cli

int main(int argc, char** argv) { return carillon::cli::run(argc, argv); }
