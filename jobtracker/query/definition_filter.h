#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jobtracker/state/catalog.h"
#include "shared/wire/messages.h"

namespace carillon::jobtracker {

// The word for the state of a definition in rows: active, suspended, quarantined or ended.
std::string_view state_word(const ActiveDefinition& definition, WallTime now);

// The definitions that a Query asks for, apart from its group and task. It is applied to the
// definitions in memory, so that no rows are built for the others.
//
// Thread: any.
class DefinitionFilter {
 public:
  explicit DefinitionFilter(const wire::Query& message);

  // True: it leaves nothing out.
  bool is_empty() const;
  bool matches(const ActiveDefinition& definition, WallTime now) const;

 private:
  bool has_tag(const JobSpec& spec) const;
  bool has_text(const ActiveDefinition& definition) const;

  const std::vector<std::string> states_;
  const std::vector<std::string> kinds_;
  const std::string tag_;
  const std::string owner_;
  const std::string task_prefix_;
  const std::string text_;  // lower case
};

}  // namespace carillon::jobtracker
