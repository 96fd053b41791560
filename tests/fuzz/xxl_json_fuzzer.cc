#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/assert.h"
#include "shared/base/utf8.h"
#include "shared/wire/xxl/read.h"
#include "shared/wire/xxl/write.h"

namespace carillon::wire::xxl {
namespace {

// What is read comes out the same after it was written.
template <class T, class Read, class Write>
void check_round(std::string_view body, Read read, Write write) {
  const Result<T> first = read(body);
  if (!first.ok()) {
    CARILLON_ASSERT(!first.error().message.empty(), "every refusal has a reason");
    CARILLON_ASSERT(is_utf8(first.error().message), "a refusal can be answered as JSON");
    return;
  }
  const Result<T> again = read(write(first.value()));
  CARILLON_ASSERT(again.ok() && again.value() == first.value(), "nothing is lost on the way");
}

void check_managed_job(std::string_view body) {
  const Result<ManagedJob> job = read_managed_job(body);
  if (!job.ok()) return;
  for (const std::string* text : {&job.value().name, &job.value().schedule_conf,
                                  &job.value().handler, &job.value().glue_source}) {
    // A number is written shorter than it is printed: 1e300.
    CARILLON_ASSERT(text->size() <= body.size() + 32, "no text is larger than the request");
    CARILLON_ASSERT(is_utf8(*text), "every text is UTF-8");
  }
}

void check_results(std::string_view body) {
  const Result<ResultList> list = read_results(body);
  if (!list.ok()) return;
  const std::vector<RunResult>& results = list.value().results;
  CARILLON_ASSERT((list.value().refused == 0) == list.value().why.empty(),
                  "what is refused has a reason");
  CARILLON_ASSERT(results.size() + list.value().refused <= body.size(),
                  "no result is made of nothing");
  std::vector<std::string> elements;
  for (const RunResult& result : results) elements.push_back(write_result(result));
  const std::vector<std::string_view> views(elements.begin(), elements.end());
  for (const ResultForm form : {ResultForm::kArray, ResultForm::kList}) {
    const Result<ResultList> again = read_results(write_results(views, form));
    CARILLON_ASSERT(again.ok() && again.value().refused == 0 && again.value().results == results,
                    "results come out the same");
  }
}

// A text that was cut anywhere is completed, or is refused as it was.
void check_cut(std::string_view body) {
  const std::string ended = end_cut_text(body);
  CARILLON_ASSERT(ended.size() <= 2 * body.size() + 1, "no more is closed than was open");
  (void)read_log_part(ended);  // Whatever it says, it must return.
  if (body.empty()) return;
  const LogPart part{.to_line = 2, .text = std::string{body}};
  const std::string whole = write_log_reply(part);
  const std::size_t begin = whole.find("logContent") + 13;
  const std::size_t cut =
      std::min(whole.size(), begin + 1 + static_cast<unsigned char>(body.front()) % body.size());
  const Result<LogPart> read = read_log_part(end_cut_text(std::string_view{whole}.substr(0, cut)));
  CARILLON_ASSERT(!read.ok() || read.value().text.size() <= 3 * body.size(),
                  "a part is not longer than the whole");
}

}  // namespace
}  // namespace carillon::wire::xxl

// Feeds any bytes to the readers of xxl-job's JSON.
// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace carillon::wire::xxl;  // NOLINT(google-build-using-namespace): one function
  const std::string_view body{reinterpret_cast<const char*>(data), size};
  check_round<RunCall>(body, read_run, write_run);
  check_round<JobCall>(body, read_job, write_job);
  check_round<LogCall>(body, read_log, write_log);
  check_round<Registration>(body, read_registration, write_registration);
  check_round<Reply>(body, read_reply, write_reply);
  check_round<LogPart>(body, read_log_part, write_log_reply);
  check_managed_job(body);
  check_results(body);
  check_cut(body);
  (void)is_hessian(body);
  return 0;
}
