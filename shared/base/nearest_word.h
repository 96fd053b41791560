#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace carillon {

// A hint for the end of an error message: " (did you mean 'listen'?)" with the words nearest to
// `wrong`, or the few that start with it. Empty: none.
std::string did_you_mean(std::string_view wrong, const std::vector<std::string>& words);

}  // namespace carillon
