#include "jobtracker/query/definition_filter.h"

#include <algorithm>

#include "shared/base/joined.h"
#include "shared/base/utf8.h"
#include "shared/job/schedule.h"

namespace carillon::jobtracker {
namespace {

char lower_letter(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// `wanted`: in lower case.
bool contains_in_any_case(std::string_view text, std::string_view wanted) {
  return std::search(text.begin(), text.end(), wanted.begin(), wanted.end(),
                     [](char one, char other) { return lower_letter(one) == other; }) != text.end();
}

bool is_among(const std::vector<std::string>& words, std::string_view word) {
  return words.empty() || std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

std::string_view state_word(const ActiveDefinition& definition, WallTime now) {
  switch (definition.row.state) {
    case DefinitionState::kSuspended:
      return "suspended";
    case DefinitionState::kQuarantined:
      return "quarantined";
    case DefinitionState::kActive:
    case DefinitionState::kEnded:
      return definition.has_had_last_fire(now) ? "ended" : "active";
  }
  return {};
}

DefinitionFilter::DefinitionFilter(const wire::Query& message)
    : states_(message.states),
      kinds_(message.kinds),
      tag_(message.tag),
      owner_(message.owner),
      task_prefix_(message.task_prefix),
      text_(lower_ascii(message.text)) {}

bool DefinitionFilter::is_empty() const {
  return states_.empty() && kinds_.empty() && tag_.empty() && owner_.empty() &&
         task_prefix_.empty() && text_.empty();
}

bool DefinitionFilter::matches(const ActiveDefinition& definition, WallTime now) const {
  const JobSpec& spec = definition.spec;
  return definition.row.task_id.starts_with(task_prefix_) &&
         (owner_.empty() || spec.owner == owner_) && (tag_.empty() || has_tag(spec)) &&
         is_among(states_, states_.empty() ? "" : state_word(definition, now)) &&
         is_among(kinds_, kinds_.empty() ? "" : word_of(definition.row.kind)) &&
         (text_.empty() || has_text(definition));
}

// Tags are compared as they are shown: a comma begins the next one.
bool DefinitionFilter::has_tag(const JobSpec& spec) const {
  return !spec.tags.empty() &&
         ("," + joined(spec.tags, ",") + ",").find("," + tag_ + ",") != std::string::npos;
}

bool DefinitionFilter::has_text(const ActiveDefinition& definition) const {
  const JobSpec& spec = definition.spec;
  return contains_in_any_case(definition.row.task_id, text_) ||
         contains_in_any_case(spec.description, text_) || contains_in_any_case(spec.owner, text_) ||
         (!spec.tags.empty() && contains_in_any_case(joined(spec.tags, ","), text_));
}

}  // namespace carillon::jobtracker
