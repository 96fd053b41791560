#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace carillon {

// " (did you mean 'listen'?)" for the word that `wrong` was most likely meant to be, or for the few
// that begin with it, to stand at the end of an error message; empty when there are none.
std::string did_you_mean(std::string_view wrong, const std::vector<std::string>& words);

}  // namespace carillon
