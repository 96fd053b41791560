#pragma once

#include <string>
#include <vector>

#include "carillon/job_client.h"
#include "jobclient/cli/context.h"

// jobclient as a whole: its options, its verbs, and how one of them is run.
// Thread: the owner's.
namespace carillon::cli {

// With where --data is unless it is given, for --help; empty: nowhere.
Program declare_program(const std::string& state_folder = {});

// Parses the command line and runs the verb; the exit status. `around.program` must be what
// declare_program() gave.
int run_program(const std::vector<std::string>& arguments, const Environment& environment,
                const Surroundings& around);

// What the options of the program say about the connection.
JobClientOptions client_options(const Configuration& configuration);

}  // namespace carillon::cli
