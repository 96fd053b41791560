#pragma once

#include <string>
#include <vector>

#include "carillon/result.h"
#include "shared/base/configuration.h"

// Settings that are secrets. An option NAME has a second form NAME-file, which names a file with
// the value: unlike an argument, other users cannot read it. Thread: any.
namespace carillon {

// The content of a file without the line ends at its end. Error: it cannot be read, it is empty or
// larger than 64 KiB, it is not a regular file, it belongs neither to this user nor to root, or
// other users than its owner and group may read or write it.
Result<std::string> read_secret_file(const std::string& path);

// The value of the kText option `name` or the content of its file. Error: both are given.
Result<std::string> text_or_file(const Configuration& configuration, const std::string& name);

// The same for a kList option: the file has one item per line. `check`: of each item in the file.
Result<std::vector<std::string>> list_or_file(const Configuration& configuration,
                                              const std::string& name,
                                              Status (*check)(const std::string& text));

}  // namespace carillon
