// The HTTP servers of a job tracker: the API, sign-in, the console, pages, and xxl-job executors.
#include <algorithm>
#include <csignal>
#include <utility>

#include "jobtracker/api/router.h"
#include "jobtracker/host.h"
#include "jobtracker/http/console_pages.h"
#include "shared/base/host_name.h"
#include "shared/net/http_url.h"
#include "shared/net/own_machine.h"
#include "shared/net/zmq/curve_keys.h"
#include "shared/net/zmq/zmq_transport.h"
#include "shared/runtime/sd_notify.h"

namespace carillon::jobtracker {

// The API asks this job tracker within the process, and others with this one's own credentials.
Status Host::start_api() {
  const std::string own = own_address();
  net::Access access = settings_.access;
  access.as_server = !access.keys.empty();
  api::ApiServer::Config config{
      .facts = {.name = settings_.name,
                .version = CARILLON_VERSION,
                .address = own,
                .zone = settings_.tracker.submit.zone,
                .make_key_pair = []() -> Result<api::ApiFacts::KeyPair> {
                  net::KeyPair pair = CARILLON_TRY(net::make_key_pair());
                  return api::ApiFacts::KeyPair{.public_key = std::move(pair.own),
                                                .secret_key = std::move(pair.secret)};
                }},
      .own_address = own,
      .make_transport = [this, own, access, channel = internal_->channel()](
                            EventLoop& loop, const std::string& address)
          -> Result<std::unique_ptr<net::ClientTransport>> {
        if (address == own) return net::connect_internal(loop, channel);
        return net::connect_zmq(loop, clock_, environment_, address, access);
      }};
  for (const EffectiveOption& option : settings_.options)
    config.facts.settings.push_back({option.name, option.value, option.source});
  api_ = CARILLON_TRY(api::ApiServer::start(std::move(config), access_));
  return start_sign_in();
}

Status Host::start_sign_in() {
  const auto as_status = [](const PrincipalDesk::Done& done) {
    return [done](const Result<wire::Message>& answer) {
      if (!answer.ok()) return done(answer.error());
      const auto* refused = std::get_if<wire::ErrorReply>(&answer.value());
      done(refused == nullptr ? Status{} : Status{refused->error});
    };
  };
  // Work that waits in the gateway runs until api_ has ended, when the pointer is already empty.
  const auto ask = [&gateway = api_->gateway(), as_status](wire::OnBehalf whose,
                                                           wire::Message message,
                                                           const PrincipalDesk::Done& done) {
    const bool is_asked = gateway.run([&gateway, whose = std::move(whose),
                                       message = std::move(message), done, as_status]() mutable {
      gateway.ask(std::move(whose), std::move(message), as_status(done));
    });
    if (!is_asked) done(Error{ErrorCode::kLimit, "too many requests, try again"});
  };
  SignIn::Surroundings around{
      .registry = access_,
      .clock = clock_,
      .desk = {.put_principal =
                   [ask](wire::OnBehalf whose, wire::PutPrincipal put, PrincipalDesk::Done done) {
                     ask(std::move(whose), std::move(put), done);
                   },
               .remove_principal =
                   [ask](wire::OnBehalf whose, wire::RemovePrincipal remove,
                         PrincipalDesk::Done done) {
                     ask(std::move(whose), std::move(remove), done);
                   }},
      .is_from_proxy = [](const net::HttpCall& call) { return call.is_from_proxy; },
      .is_secure = [](const net::HttpCall& call) { return call.is_encrypted; }};
  SignInConfig config = settings_.sign_in;
  config.server_version = CARILLON_VERSION;
  sign_in_ = CARILLON_TRY(SignIn::start(std::move(config), std::move(around)));
  api_->set_sign_in(
      {.principal_of = [this](const net::HttpCall& call) { return sign_in_->principal_of(call); },
       .refusal_of = [this](const net::HttpCall& head) { return sign_in_->refusal_of(head); },
       .is_target = SignIn::is_target,
       .handle =
           [this](const net::HttpCall& call, const net::HttpResponder& responder) {
             return sign_in_->call(call, responder);
           },
       .secret = [this] { return sign_in_->secret(); }});
  return {};
}

FurtherPages Host::api_pages() {
  return {.takes =
              [](const net::HttpCall& head) {
                return api::is_api_target(head.target) || is_for_console(head);
              },
          .check_head = [this](const net::HttpCall& head) -> std::optional<net::HttpResponse> {
            return api::is_api_target(head.target) ? api_->check_head(head)
                                                   : check_console_head(head);
          },
          .call =
              [this](net::HttpCall call, const net::HttpResponder& responder) {
                if (!api::is_api_target(call.target)) return responder.send(console_page(call));
                api_->call(std::move(call), responder);
              }};
}

// The keys of the store are known once a session has read it.
Result<bool> Host::stored_key(const std::string& public_key) const {
  if (!access_.is_known())
    return Error{ErrorCode::kUnavailable, "the job tracker has not read its store yet"};
  return access_.with_key(public_key).has_value();
}

// Copies the numbers of the loop; the metrics are made of them on the thread of the HTTP server.
std::function<std::vector<Metric>()> Host::metrics() {
  TrackerMetrics numbers = tracker() == nullptr ? TrackerMetrics{} : tracker()->metrics();
  numbers.stats.emplace_back("standing_by", stands_by_ ? 1 : 0);
  return [this, numbers = std::move(numbers)] {
    std::vector<Metric> all = metrics_of(numbers);
    all.push_back({.name = "carillon_http_request_seconds",
                   .help = "Time from a request over HTTP to its answer",
                   .type = MetricType::kHistogram,
                   .samples = {Sample{.histogram = http_times_.values(kMicroseconds)}}});
    all.push_back(build_info());
    return all;
  };
}

Status Host::listen_to_executors() {
  poster_ = CARILLON_TRY(net::HttpPoster::start(
      {.ca_file = settings_.xxl_ca, .guard = settings_.tracker.executor_guard}, loop_, clock_));
  xxl_ = std::make_unique<XxlAdmin>(
      XxlAdminConfig{.tokens = settings_.xxl_tokens,
                     .guard = settings_.tracker.executor_guard,
                     .closed = settings_.xxl_closed},
      loop_, clock_,
      XxlAdmin::Desk{
          .take =
              [this](ExecutorRequest request, OnStored done) {
                const auto* registration = std::get_if<ExecutorRegistration>(&request);
                if (registration != nullptr && !registration->removes &&
                    is_own_port(registration->address)) {
                  return done(
                      Error{ErrorCode::kInvalidArgument, "registryValue '" + registration->address +
                                                             "' is a port of this job tracker"});
                }
                tracker()->on_executor(std::move(request), std::move(done));
              },
          .manage = [this](const ManageJob& call,
                           OnManaged done) { tracker()->manage(call, std::move(done)); },
          .token_of =
              [this](const std::string& app_name) { return tracker()->executor_token(app_name); },
          .apps_of_run = [this](std::int64_t log_id) { return tracker()->apps_of_run(log_id); }});
  if (settings_.xxl_listen.empty() || settings_.xxl_listen == "off") return {};
  auto server = net::HttpServer::open(
      settings_.xxl_listen,
      {.names = {host_name()},
       .any_name = xxl_->asks_for_token(),
       .body_max = XxlAdmin::kBodyMax,
       .option = "--xxl-listen",
       .access = settings_.http_access,
       .check_head = [this](const net::HttpCall& head) { return xxl_->check_head(head); },
       .on_answered = [this](Duration time) { http_times_.record(time); }},
      [this](const net::HttpCall& call, const net::HttpResponder& responder) {
        xxl_->call(call, responder);
      });
  if (!server.ok()) return server.error().with_context("--xxl-listen");
  xxl_server_ = std::move(server).value();
  return {};
}

// As browsers reach it, as far as this machine knows.
std::string Host::console_url() const {
  if (!settings_.sign_in.console_url.empty() || !pages_) return settings_.sign_in.console_url;
  const auto url = net::parse_http_url(pages_->url());
  if (!url.ok()) return pages_->url();
  const std::string& host = url.value().host;
  if (host != "*" && host != "0.0.0.0" && host != "::") return pages_->url();
  return url.value().scheme + "://" + host_name() + ":" + url.value().port;
}

// Whether the address leads to one of this job tracker's own ports.
bool Host::is_own_port(const std::string& address) const {
  const auto url = net::parse_http_url(address);
  if (!url.ok()) return false;
  std::vector<std::string> own{transport_->endpoint()};
  if (pages_) own.push_back(pages_->url());
  if (xxl_server_) own.push_back(xxl_server_->url());
  const std::string end = ":" + url.value().port_or_default();
  const bool is_port = std::any_of(own.begin(), own.end(),
                                   [&](const std::string& one) { return one.ends_with(end); });
  return is_port && net::is_own_machine(url.value().host);
}

// Otherwise a closed terminal stops it.
bool Host::reloads_on_hangup() const {
  return settings_.http_access.has_tls() || is_managed(environment_);
}

void Host::reload_certificates() {
  if (!settings_.http_access.has_tls()) return log_.info("there is no certificate to read again");
  for (const Status& status : {pages_ ? pages_->reload_certificate() : Status{},
                               xxl_server_ ? xxl_server_->reload_certificate() : Status{}}) {
    if (status.ok()) continue;
    return log_.error("cannot use the new certificate; keeping the old one", "error",
                      status.error().message);
  }
  log_.info("read the certificate again; new connections use it", "file",
            settings_.http_access.certificate);
}

}  // namespace carillon::jobtracker
