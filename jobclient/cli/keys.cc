#include "jobclient/cli/keys.h"

#include "jobclient/cli/exit_status.h"
#include "shared/net/zmq/curve_keys.h"

namespace carillon::cli {

Verb declare_keys_new() {
  return {.name = "keys new",
          .summary = "Create CURVE keys for a job tracker and one client",
          .description =
              "Creates the keys in a folder. Start the job tracker with --keys DIR. Copy "
              "client.key, client.pub and server.pub to the other machines and give their programs "
              "that folder with --keys. To admit a further client, put its public key into "
              "DIR/clients.",
          .positionals = {{.name = "DIR", .help = "The folder, without keys in it."}},
          .examples =
              "  jobclient keys new /etc/carillon/keys\n"
              "  jobtracker --listen tcp://0.0.0.0:35001 --keys /etc/carillon/keys\n",
          .section = "Schedules and help"};
}

int run_keys_new(Context& context) {
  const std::string& folder = context.configuration.text("DIR");
  if (const Status made = net::make_keys(folder); !made.ok()) {
    return context.fail(kWrongInput, made.error().message);
  }
  context.out() << "created keys in " << folder
                << ": server.key and server.pub for the job tracker; client.key, client.pub and "
                   "server.pub for clients and task trackers\n";
  return kDone;
}

}  // namespace carillon::cli
