#include "jobtracker/api/job_filter.h"

#include <algorithm>

#include "jobtracker/api/task_view.h"
#include "shared/base/time_text.h"

namespace carillon::jobtracker::api {
namespace {

constexpr int kDefinitions = 0;  // the phases of the list
constexpr int kOneShots = 1;
constexpr std::size_t kQueryWordsMax = 16;

bool is_one_of_words(const std::vector<std::string>& words, const std::string& word) {
  return words.empty() || std::find(words.begin(), words.end(), word) != words.end();
}

// For a query, which may have a limited number of them. Rows are compared again.
std::vector<std::string> few_words(std::vector<std::string> words) {
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words.size() <= kQueryWordsMax ? words : std::vector<std::string>{};
}

bool has_tag(const wire::Row& row, const std::string& tag) {
  return tag.empty() ||
         ("," + text_in(row, "tags") + ",").find("," + tag + ",") != std::string::npos;
}

}  // namespace

bool JobFilter::matches(const wire::Row& row, int phase) const {
  if (!is_text(row, "task_id", task_id)) return false;
  if (!text_in(row, "task_id").starts_with(task_prefix)) return false;
  if (!is_one_of_words(kinds, text_in(row, "kind"))) return false;
  if (phase == kDefinitions) {
    return is_one_of_words(states, text_in(row, "state")) && has_tag(row, tag) &&
           is_text(row, "owner", owner) &&
           contains_text(row, text, {"task_id", "description", "owner", "tags"});
  }
  if (!is_one_shot(row) || !contains_text(row, text, {"task_id"})) return false;
  return states.empty() ||
         is_one_of_words(states, one_shot_item(row).value("state", std::string{}));
}

// Rows of `waiting` have no tags and no owner.
bool JobFilter::may_match_one_shots() const {
  const bool is_kind = is_one_of_words(kinds, "at") || is_one_of_words(kinds, "now");
  return is_kind && tag.empty() && owner.empty();
}

JobFilter job_filter_of(const Parameters& parameters) {
  return {.group = parameters.text("group"),
          .states = parameters.list("state"),
          .kinds = parameters.list("kind"),
          .tag = parameters.text("tag"),
          .owner = parameters.text("owner"),
          .task_id = parameters.text("task_id"),
          .task_prefix = parameters.text("task_prefix"),
          .text = parameters.text("text")};
}

RowList list_of_jobs(const JobFilter& filter) {
  RowList list{
      .queries = {{.what = "list",
                   .group = filter.group,
                   .task_id = filter.task_id,
                   .states = few_words(filter.states),
                   .text = filter.text,
                   .task_prefix = filter.task_prefix,
                   .kinds = few_words(filter.kinds),
                   .tag = filter.tag,
                   .owner = filter.owner}},
      .matches = [filter](const wire::Row& row, int phase) { return filter.matches(row, phase); },
      .item =
          [](const wire::Row& row, int phase) {
            return phase == kOneShots ? one_shot_item(row) : definition_item(row);
          }};
  if (filter.may_match_one_shots())
    list.queries.push_back({.what = "waiting", .group = filter.group, .task_id = filter.task_id});
  return list;
}

std::optional<WallTime> parse_shown_time(const std::string& text) {
  const auto time = parse_time(text);
  return time.ok() ? std::optional{time.value()} : std::nullopt;
}

}  // namespace carillon::jobtracker::api
