#pragma once

#include <optional>
#include <string>
#include <vector>

#include "carillon/time.h"
#include "jobtracker/api/row_pages.h"

namespace carillon::jobtracker::api {

// Which jobs a list has. Empty members match all.
struct JobFilter {
  std::string group{};
  std::vector<std::string> states{};
  std::vector<std::string> kinds{};
  std::string tag{};
  std::string owner{};
  std::string task_id{};
  std::string task_prefix{};
  std::string text{};  // in the task id, the description, the owner or a tag

  bool matches(const wire::Row& row, int phase) const;
  bool may_match_one_shots() const;
};

JobFilter job_filter_of(const Parameters& parameters);

// The definitions, and then the waiting jobs without one.
RowList list_of_jobs(const JobFilter& filter);

// A time in a row.
std::optional<WallTime> parse_shown_time(const std::string& text);

}  // namespace carillon::jobtracker::api
