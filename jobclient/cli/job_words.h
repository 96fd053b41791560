#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "carillon/job_spec.h"

// The words that flags take for the choices of a job. An unknown one is an error that lists them.
// Thread: any.
namespace carillon::cli {

std::vector<std::string> dst_rule_words();
Result<DstRule> parse_dst_rule(std::string_view word);

std::vector<std::string> overlap_words();
Result<Overlap> parse_overlap(std::string_view word);

std::vector<std::string> dispatch_words();
Result<Dispatch> parse_dispatch(std::string_view word);

std::vector<std::string> route_words();
Result<Route> parse_route(std::string_view word);

std::vector<std::string> block_words();
Result<Block> parse_block(std::string_view word);

std::vector<std::string> misfire_words();
Result<MisfirePolicy> parse_misfire(std::string_view word);

std::vector<std::string> backoff_words();
Result<RetryBackoff> parse_backoff(std::string_view word);

}  // namespace carillon::cli
