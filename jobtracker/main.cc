#include <cstdio>
#include <exception>
#include <string>

#include "jobtracker/exit_status.h"
#include "jobtracker/host.h"
#include "jobtracker/program.h"
#include "shared/base/hidden_arguments.h"
#include "shared/runtime/open_files.h"
#include "shared/runtime/private_process.h"
#include "shared/runtime/signals.h"

namespace carillon::jobtracker {
namespace {

int refuse(const Error& error) {
  std::fprintf(stderr, "jobtracker: %s\n", error.message.c_str());
  return kExitConfiguration;
}

int main_of(int argc, char** argv) {
  const Environment environment = Environment::of_process();
  const Program program = make_program(environment);
  const auto parsed = parse_configuration(program, argc, argv);
  hide_secret_arguments(program, argc, argv);
  if (!parsed.ok()) return refuse(parsed.error());
  if (parsed.value().print) {
    std::fputs(parsed.value().print->c_str(), stdout);
    return 0;
  }
  const Configuration& configuration = parsed.value().configuration;
  Result<Settings> settings = read_settings(configuration, environment);
  if (!settings.ok()) return refuse(settings.error());
  set_log_level(settings.value().log_level);
  const Logger log{"configuration"};
  for (const EffectiveOption& option : configuration.effective()) {
    log.debug("option", "name", option.name, "value", option.value, "source", option.source);
  }
  allow_all_open_files();
  return Host(settings.value(), environment).run();
}

}  // namespace
}  // namespace carillon::jobtracker

int main(int argc, char** argv) {
  carillon::Signals::block();
  carillon::make_process_private();
  try {
    return carillon::jobtracker::main_of(argc, argv);
  } catch (const std::exception& thrown) {
    std::fprintf(stderr, "jobtracker: bug: %s\n", thrown.what());
    return carillon::jobtracker::kExitBug;
  }
}
