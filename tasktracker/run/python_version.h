#pragma once

#include <string>

#include "shared/base/environment.h"

namespace carillon::tasktracker {

// Whether that program is a Python 2. The program itself is asked, because `python` may be either.
// One that does not answer within 5 s is none.
// Thread: any; blocks until the answer.
bool is_python2(const std::string& program, const Environment& environment);

}  // namespace carillon::tasktracker
