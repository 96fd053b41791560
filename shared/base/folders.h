#pragma once

#include <string>

#include "carillon/result.h"
#include "shared/base/environment.h"

// Default folders for Carillon's files. Only names: nothing is created.
namespace carillon {

// $XDG_STATE_HOME/carillon/PROGRAM, or ~/.local/state/carillon/PROGRAM. Error if neither the
// environment nor the user database has a home folder.
Result<std::string> state_folder(const Environment& environment, const std::string& program);

// $XDG_RUNTIME_DIR/carillon, or /tmp/carillon-UID: for files that only this user's processes may
// see until the next boot. The caller must check that the folder belongs to the user and is closed
// to others.
std::string runtime_folder(const Environment& environment);

}  // namespace carillon
