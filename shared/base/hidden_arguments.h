#pragma once

#include "shared/base/configuration.h"

namespace carillon {

// Overwrites secrets in the arguments of this process, which every user of the machine can read in
// /proc: the values of secret options, and URLs with a password. Arguments after "--" stay. Call
// after parse_configuration(), which copies them, and before any thread starts.
void hide_secret_arguments(const Program& program, int argc, char** argv);

}  // namespace carillon
