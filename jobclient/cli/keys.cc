#include "jobclient/cli/keys.h"

#include "jobclient/cli/exit_status.h"
#include "jobclient/cli/principals.h"
#include "shared/base/principal.h"
#include "shared/net/zmq/curve_keys.h"

namespace carillon::cli {
namespace {

int make_folder(Context& context) {
  const std::string& folder = context.configuration.text("NAME");
  if (const Status made = net::make_keys(folder); !made.ok()) {
    return context.fail(kWrongInput, made.error().message);
  }
  context.out() << "created keys in " << folder
                << ": server.key and server.pub for the job tracker; client.key, client.pub and "
                   "server.pub for clients and task trackers\n";
  return kDone;
}

int make_client(Context& context) {
  const Configuration& configuration = context.configuration;
  const std::string& name = configuration.text("NAME");
  auto change = read_rights(context, kKeyKind, name);
  if (!change.ok()) return context.fail(kWrongInput, change.error().message);
  const std::string& own = configuration.text("keys");
  if (own.empty())
    return context.fail(kWrongInput,
                        "--keys is missing: named keys need a job tracker that was started with "
                        "--keys (create its folder with jobclient keys new DIR)");
  const Result<net::ClientKeys> admin = net::read_client_keys(own);
  if (!admin.ok()) return context.fail(kWrongInput, admin.error().message);
  const Result<net::KeyPair> made = net::make_key_pair();
  if (!made.ok()) return context.fail(kWrongInput, made.error().message);
  const std::string folder = configuration.text("to").empty() ? name : configuration.text("to");
  const Status written = net::write_client_keys(
      folder,
      {.secret = made.value().secret, .own = made.value().own, .server = admin.value().server});
  if (!written.ok()) return context.fail(kWrongInput, written.error().message);
  change.value().secret = made.value().own;
  const auto client = context.client();
  if (!client.ok()) return context.fail(kWrongInput, client.error().message);
  const auto stored = client.value()->put_principal(change.value());
  if (!stored.ok()) {
    net::remove_client_keys(folder);
    return context.fail(stored.error());
  }
  context.out() << "created key '" << name << "' in " << folder
                << ": copy the folder to the program's machine, and give it with --keys\n";
  return kDone;
}

}  // namespace

Verb declare_keys_new() {
  std::vector<Option> options = right_options();
  options.push_back({.name = "to",
                     .placeholder = "DIR",
                     .help = "With --role: folder for the files of the new key.",
                     .fallback_help = "a folder with the name of the key"});
  return {.name = "keys new",
          .summary = "Create CURVE keys for a job tracker, or for one client with its rights",
          .description =
              "Without --role, NAME is a folder. It gets the keys of a job tracker, which is "
              "started with --keys DIR, and of its administrator. With --role, NAME is a new "
              "client: its public key and rights go into the job tracker's store, its keys into a "
              "folder for its machine.",
          .options = std::move(options),
          .positionals = {{.name = "NAME", .help = "A folder without keys, or a new client."}},
          .examples =
              "  jobclient keys new /etc/carillon/keys\n"
              "  jobtracker --listen tcp://0.0.0.0:35001 --keys /etc/carillon/keys\n"
              "  jobclient --keys /etc/carillon/keys keys new worker-7 --role worker --group "
              "'billing-*'\n",
          .section = "Access"};
}

int run_keys_new(Context& context) {
  const Configuration& configuration = context.configuration;
  const bool has_rights = configuration.was_given("role") || configuration.was_given("group") ||
                          configuration.was_given("expires") || configuration.was_given("to");
  return has_rights ? make_client(context) : make_folder(context);
}

}  // namespace carillon::cli
