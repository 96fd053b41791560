#pragma once

#include <string>
#include <vector>

#include "tests/support/tracker_bundle.h"

namespace carillon::testing {

// A field of a row; none of that type: empty, or -999.
std::string text_of(const wire::Row& row, const std::string& name);
std::int64_t number_of(const wire::Row& row, const std::string& name);
std::vector<std::string> texts_of(const std::vector<wire::Row>& rows, const std::string& name);

// The rows of the answer and of those to ask for after it.
std::vector<wire::Row> every_page(TrackerBundle& bundle, wire::Query query);

}  // namespace carillon::testing
