#pragma once

#include <cstddef>
#include <string>

#include "carillon/result.h"
#include "jobtracker/api/parameters.h"

// The opaque tokens of pages. A token belongs to the parameters of its list: it is refused with
// others.
//
// Thread: any.
namespace carillon::jobtracker::api {

// Where a page begins.
struct PageStart {
  int phase = 0;            // of a list that is made of several queries, from 0 on
  std::string after{};      // as in Query::after
  std::size_t skipped = 0;  // so many of the rows after it were returned before

  bool operator==(const PageStart&) const = default;
};

// `list`: the path of the list.
std::string page_token(const PageStart& start, const std::string& list,
                       const Parameters& parameters);
// The start of the first page, if `parameters` has no token.
Result<PageStart> page_start(const std::string& list, const Parameters& parameters);

}  // namespace carillon::jobtracker::api
