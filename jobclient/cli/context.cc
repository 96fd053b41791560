#include "jobclient/cli/context.h"

namespace carillon::cli {

Context::Context(const Configuration& its_configuration, const Surroundings& its_surroundings)
    : configuration(its_configuration),
      around(its_surroundings),
      style{.format = format_of(its_configuration.text("output")),
            .terminal = its_surroundings.terminal,
            .zone = its_surroundings.zone.ok() ? its_surroundings.zone.value() : Zone::utc(),
            .now = its_surroundings.clock.wall_now()} {}

Result<JobClient*> Context::client() {
  if (client_) return client_.get();
  client_ = CARILLON_TRY(around.open_client(configuration));
  return client_.get();
}

int Context::fail(int status, const std::string& message) {
  out().flush();
  err() << "jobclient: " << configuration.verb() << ": " << message << std::endl;
  return status;
}

int Context::fail(const Error& error) { return fail(status_of(error.code), error.message); }

std::optional<std::int64_t> Context::number(const char* name) const {
  if (!configuration.has(name)) return std::nullopt;
  return configuration.number(name);
}

TaskRef Context::task() const {
  return {configuration.text("TASK_ID"), configuration.text("group")};
}

Option group_option(bool with_default, const char* help) {
  return {.name = "group",
          .placeholder = "GROUP",
          .help = help,
          .fallback = with_default ? "default" : "",
          .if_empty = with_default ? "leave it out for group default" : kAllIfLeftOut};
}

}  // namespace carillon::cli
