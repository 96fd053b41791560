#pragma once

#include <string>
#include <vector>

#include "carillon/job_spec.h"
#include "shared/base/configuration.h"

// A job as flags of the command line.
// Thread: any.
namespace carillon::cli {

// The flags of submit that say what the job is.
std::vector<Option> job_options();

// What the flags say, files that they name included. `now` is what --at +5m counts from, `input`
// the descriptor that "-" stands for.
Result<JobSpec> job_from_flags(const Configuration& configuration, WallTime now, int input);

// What --payload or --payload-file say; empty text where neither does.
Result<std::string> payload_from(const Configuration& configuration, int input);

// What a script is in by its first line, or else by the ending of its file; empty: neither says.
std::string language_of_script(const std::string& source, const std::string& path);

// A whole file of at most `bytes_max` bytes; "-" is `input`. The error names the file.
Result<std::string> read_file(const std::string& path, std::size_t bytes_max, int input);

}  // namespace carillon::cli
