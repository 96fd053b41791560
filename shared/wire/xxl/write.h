#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shared/wire/xxl/messages.h"

// Writes values as xxl-job's JSON. Where dialects use different names, it writes all of them,
// because each side ignores unknown fields. Invalid UTF-8 is written as U+FFFD. Thread: any.
namespace carillon::wire::xxl {

// The form of results for an admin: an array up to dialect C, {"callbackList": array} in D.
enum class ResultForm : int { kArray = 0, kList = 1 };

std::string write_run(const RunCall& call);
std::string write_job(const JobCall& call);
std::string write_log(const LogCall& call);
std::string write_registration(const Registration& registration);

// One element, and a request of several. In two steps, because elements are stored in between.
std::string write_result(const RunResult& result);
std::string write_results(const std::vector<std::string_view>& elements, ResultForm form);

std::string write_reply(const Reply& reply);
// An admin's answer to an executor. `data`: the result of the call; empty: none.
std::string write_admin_reply(const Reply& reply, const std::string& data = {});
std::string write_log_reply(const LogPart& part);

}  // namespace carillon::wire::xxl
