#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "carillon/result.h"
#include "shared/wire/messages.h"

// A submission that is sent in parts, one for each node group, or part of one, that it is about;
// and what came of them, as of one submission.
//
// Thread: the loop.
namespace carillon {

// Among the answers of other parts, of each job of one that failed: a job tracker may have taken
// it, or none has. They never travel.
inline constexpr wire::SubmitStatus kUnansweredPart{4};
inline constexpr wire::SubmitStatus kNotTakenPart{5};

struct SubmitPart {
  wire::Submit submit{};              // numbered: the same whenever it is made of the same whole
  std::vector<std::size_t> places{};  // of its jobs, in the whole
};

class SubmitParts {
 public:
  // `group_parts`: of the groups that it is about.
  SubmitParts(wire::Submit whole, std::int32_t group_parts);

  // Once.
  std::vector<SubmitPart> take_parts();
  // What came of the part with these places. True: it was the last.
  bool take(const std::vector<std::size_t>& places, Result<wire::Message> answered);
  // Of the whole, once. Where the parts came to different things, an error of all of it has to do,
  // unless `may_be_mixed`: then the answers stand beside those of the parts that failed.
  Result<wire::Message> result(bool may_be_mixed);

 private:
  void fail(const std::vector<std::size_t>& places, const Error& why);

  wire::Submitted reply_{};
  std::vector<SubmitPart> parts_;
  std::int64_t fingerprint_ = 0;
  std::size_t open_ = 0;
  std::optional<Error> error_{};  // of the first part that failed
  bool is_alike_ = true;          // each part has failed with it
};

}  // namespace carillon
