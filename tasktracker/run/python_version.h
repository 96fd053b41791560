#pragma once

#include <string>

#include "shared/base/environment.h"

namespace carillon::tasktracker {

// Whether this program is Python 2. Runs the program, because `python` may be either version. A
// program that does not answer within 5 s is not. Thread: any; blocks until the answer.
bool is_python2(const std::string& program, const Environment& environment);

}  // namespace carillon::tasktracker
