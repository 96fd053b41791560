#include "jobclient/cli/context.h"

#include <utility>

#include "jobclient/cli/text_width.h"
#include "jobclient/submit/stored_submits.h"
#include "shared/base/joined.h"
#include "shared/net/http_url.h"
#include "shared/outbox/outbox.h"
#include "shared/wire/spec_json.h"

namespace carillon::cli {

Context::Context(const Configuration& its_configuration, const Surroundings& its_surroundings)
    : configuration(its_configuration),
      around(its_surroundings),
      style{.format = format_of(its_configuration.text("output")),
            .terminal = its_surroundings.terminal,
            .zone = its_surroundings.zone.ok() ? its_surroundings.zone.value() : Zone::utc(),
            .now = its_surroundings.clock.wall_now()} {}

Result<JobClient*> Context::client_as_it_is() {
  if (client_) return client_.get();
  client_ = CARILLON_TRY(around.open_client(configuration, [this](const SubmitAnswer& answer) {
    const MutexLock lock(mutex_);
    delivered_.push_back(answer);
  }));
  return client_.get();
}

Result<JobClient*> Context::client() {
  if (client_) return client_.get();
  remind_of_refused();
  CARILLON_TRY(client_as_it_is());
  // Without a tracker the verb itself says so, and where what is stored is not taken, the next one
  // that changes anything. A question does not wait for that.
  (void)client_->flush(configuration.duration("connect-timeout"));
  tell_delivered();
  return client_.get();
}

void Context::close_client() {
  client_.reset();
  tell_delivered();
}

void Context::tell_of_others() const {
  if (data_folder().empty()) return;
  for (const outbox::ForOthers& others :
       outbox::stored_for_others(submissions_folder(data_folder()), job_trackers(), around.clock)) {
    const std::string addresses = joined(others.addresses, ",");
    const char* const flag = addresses.starts_with("http") ? "--http " : "--tracker ";
    err() << "jobclient: " << configuration.verb() << ": submissions stored for " << addresses
          << " are not delivered: " << others.entries << " (" << jobs_of_each()
          << "; deliver them: `jobclient flush " << flag << addresses
          << "`; remove them: `jobclient flush --discard " << addresses << "`)\n";
  }
  err().flush();
}

std::vector<std::string> Context::job_trackers() const {
  if (!configuration.has("http-url")) return configuration.list("tracker");
  const auto url = net::parse_http_url(configuration.text("http-url"));
  return {url.ok() ? url.value().server() + url.value().path : configuration.text("http-url")};
}

std::string Context::data_folder() const {
  const std::string given = configuration.text("data");
  return given.empty() ? around.state_folder : given;
}

std::vector<SubmitAnswer> Context::take_delivered() {
  const MutexLock lock(mutex_);
  return std::exchange(delivered_, {});
}

std::string Context::for_out(std::string_view text) const {
  return around.terminal.out_is_terminal ? for_terminal(text) : std::string{text};
}

std::string Context::for_err(std::string_view text) const {
  return around.terminal.err_is_terminal ? for_terminal(text) : std::string{text};
}

void Context::say_zone() const {
  if (is_json() || around.zone.ok()) return;
  err() << "jobclient: times are in UTC: " << around.zone.error().message << '\n';
}

void Context::remind_of_refused() {
  std::size_t refused = 0;
  visit_refused_submits(data_folder(), around.clock, [&](const std::vector<SubmitAnswer>& answers) {
    refused += answers.size();
    return false;
  });
  if (refused == 0) return;
  err() << "jobclient: stored jobs that were not accepted: " << refused
        << " (`jobclient flush` shows them)" << std::endl;
}

void Context::tell_delivered() {
  std::size_t accepted = 0;
  for (const SubmitAnswer& answer : take_delivered()) {
    if (answer.status == SubmitStatus::kAccepted) {
      ++accepted;
      continue;
    }
    err() << "jobclient: stored job '" << one_line(answer.task_id) << "' of group '"
          << one_line(answer.group) << "' was not accepted: " << one_line(answer.reason)
          << " (kept until `jobclient flush` shows it)\n";
  }
  if (accepted > 0) err() << "jobclient: stored jobs delivered: " << accepted << '\n';
  err().flush();
}

int Context::fail(int status, const std::string& message) {
  out().flush();
  print_failure(err(), is_json(), configuration.verb(), status,
                is_json() ? message : for_err(message));
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

void print_failure(std::ostream& err, bool as_json, const std::string& verb, int status,
                   const std::string& message) {
  if (as_json) {
    Row row{{"error", message}};
    if (!verb.empty()) row.emplace_back("verb", verb);
    row.emplace_back("exit_status", std::int64_t{status});
    err << wire::row_to_json(row) << std::endl;
  } else {
    err << "jobclient: " << verb << (verb.empty() ? "" : ": ") << message << std::endl;
  }
}

Option group_option(bool with_default, const char* help) {
  return {.name = "group",
          .placeholder = "GROUP",
          .help = help,
          .fallback = with_default ? "default" : "",
          .if_empty = with_default ? "leave it out for group default" : kAllIfLeftOut};
}

}  // namespace carillon::cli
