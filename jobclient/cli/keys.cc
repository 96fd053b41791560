#include "jobclient/cli/keys.h"

#include "jobclient/cli/exit_status.h"
#include "shared/net/zmq/curve_keys.h"

namespace carillon::cli {

Verb declare_keys_new() {
  return {.name = "keys new",
          .summary = "Make keys for a job tracker that other machines may reach",
          .description =
              "Makes the folder with the keys of a job tracker and of one client that it lets in. "
              "The job tracker is started with --keys DIR. Other machines get client.key, "
              "client.pub and server.pub, in a folder that their programs are given with --keys; "
              "a further client is let in by its public key in DIR/clients.",
          .positionals = {{.name = "DIR", .help = "The folder; there must be no keys in it."}},
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
  context.out() << "made keys in " << folder
                << ": server.key and server.pub for the job tracker; client.key, client.pub and "
                   "server.pub for those it lets in\n";
  return kDone;
}

}  // namespace carillon::cli
