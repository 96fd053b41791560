#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shared/wire/xxl/messages.h"

// Values as xxl-job's JSON: under the names of all dialects at once where they differ, since each
// side passes over what it does not know. Bytes that are no UTF-8 are written as U+FFFD.
// Thread: any.
namespace carillon::wire::xxl {

// How results go to an admin: an array up to dialect C, {"callbackList": array} in D.
enum class ResultForm : int { kArray = 0, kList = 1 };

std::string write_run(const RunCall& call);
std::string write_job(const JobCall& call);
std::string write_log(const LogCall& call);
std::string write_registration(const Registration& registration);

// One element, and the request of several. In two steps, because elements are stored in between.
std::string write_result(const RunResult& result);
std::string write_results(const std::vector<std::string_view>& elements, ResultForm form);

std::string write_reply(const Reply& reply);
// As an admin answers its executors; `data`: what the call made, empty: nothing.
std::string write_admin_reply(const Reply& reply, const std::string& data = {});
std::string write_log_reply(const LogPart& part);

}  // namespace carillon::wire::xxl
