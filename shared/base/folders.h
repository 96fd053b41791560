#pragma once

#include <string>

#include "carillon/result.h"
#include "shared/base/environment.h"

// Where Carillon keeps files of its own when nobody says otherwise. Only names: nothing is made.
namespace carillon {

// $XDG_STATE_HOME/carillon/PROGRAM, or ~/.local/state/carillon/PROGRAM. Fails where neither the
// environment nor the user database knows a home.
Result<std::string> state_folder(const Environment& environment, const std::string& program);

// $XDG_RUNTIME_DIR/carillon, or /tmp/carillon-UID: for what only this user's processes of this
// boot may see. Whoever uses it checks that it belongs to the user and is closed to others.
std::string runtime_folder(const Environment& environment);

}  // namespace carillon
