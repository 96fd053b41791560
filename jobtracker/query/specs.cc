// Definitions with what they run, the search in scripts, and the parents of a task.
#include <algorithm>
#include <map>
#include <utility>

#include "jobtracker/query/pages.h"
#include "jobtracker/query/query.h"
#include "shared/base/utf8.h"
#include "shared/job/secrets.h"
#include "shared/wire/codec.h"

namespace carillon::jobtracker {
namespace {

// Most definitions to check for one page, most bytes to search, and most to answer with, so that
// the loop is not blocked and a page fits into a frame.
constexpr int kCheckedMax = 4'000;
constexpr std::size_t kSearchedBytesMax = 2 * 1024 * 1024;
constexpr std::size_t kAnsweredBytesMax = 1024 * 1024;

// A page under construction.
struct SpecPage {
  wire::Rows reply{};
  std::int64_t limit = 0;
  std::string text{};  // for sources, in lower case
  int checked = 0;
  std::size_t searched = 0;
  std::size_t answered = 0;

  bool is_full() const {
    return static_cast<std::int64_t>(reply.rows.size()) >= limit || checked >= kCheckedMax ||
           searched >= kSearchedBytesMax || answered >= kAnsweredBytesMax;
  }
  void add(wire::Row row, std::size_t bytes) {
    reply.rows.push_back(std::move(row));
    answered += bytes;
  }
};

bool is_child_of(const JobSpec& parent, const wire::Query& task) {
  return std::any_of(parent.children.begin(), parent.children.end(), [&task](const Child& child) {
    return child.task_id == task.task_id && lower_ascii(child.group) == lower_ascii(task.group);
  });
}

}  // namespace

// `specs` and `sources` are of a group or a task, `parents` of the whole cluster.
void QueryDesk::specs(const Asker& asker, const wire::Query& message) {
  const auto group = group_of(message);
  if (!group.ok()) return clients_.answer(asker, error_reply(group.error()));
  const bool are_parents = message.what == "parents";
  if (are_parents && message.task_id.empty()) {
    return clients_.answer(asker, error_reply({ErrorCode::kInvalidArgument,
                                               "Query.task_id is empty, it names the child"}));
  }
  const GroupId searched = are_parents ? GroupId{} : group.value();
  const auto visible = visible_parts(asker, searched);
  if (!visible) return clients_.answer(asker, wire::Rows{});
  const auto after = numbers(message.after);
  const ListDefinitions question{
      .groups = *visible,
      .task_id = are_parents ? std::string{} : message.task_id,
      .after = DefinitionId{after.empty() ? 0 : static_cast<std::int32_t>(after.front())},
      .limit = page_of(message)};
  const bool are_sources = message.what == "sources";
  // What a page has of one definition.
  const auto take = [this, are_sources, are_parents, message](SpecPage& page,
                                                              ActiveDefinition& one) {
    ++page.checked;
    const Run& run = one.spec.run;
    if (are_parents) {
      if (!is_child_of(one.spec, message)) return;
      return page.add({{"group", group_name(one.row.group)}, {"task_id", one.row.task_id}},
                      one.row.task_id.size());
    }
    if (!are_sources) {
      wire::Row row = definition_row(one);
      row.emplace_back("spec", wire::encode_spec(without_secrets(one.spec)));
      return page.add(std::move(row), one.row.spec.size());
    }
    if (run.kind != RunKind::kScript) return;
    page.searched += run.script_source.size();
    if (lower_ascii(run.script_source).find(page.text) == std::string::npos) return;
    page.add({{"group", group_name(one.row.group)},
              {"task_id", one.row.task_id},
              {"language", run.script_language},
              {"remark", run.script_remark},
              {"source", run.script_source}},
             run.script_source.size());
  };
  SpecPage page{.limit = question.limit, .text = lower_ascii(message.text)};
  if (is_in_memory(searched)) {
    const auto& all = catalog_.definitions();
    for (auto at = all.upper_bound(question.after); at != all.end(); ++at) {
      const bool is_wanted = is_of(question.groups, at->second->row.group) &&
                             (are_parents || is_of_task(message, at->second->row.task_id));
      is_wanted ? take(page, *at->second) : (void)++page.checked;
      if (!page.is_full()) continue;
      page.reply.next = key_text({at->first.value});
      break;
    }
    return clients_.answer(asker, std::move(page.reply));
  }
  read(asker, question,
       [this, asker, take, page = std::move(page),
        text = are_parents ? message.task_id : std::string{}](Result<ReadAnswer> answer) mutable {
         if (!answer.ok()) return clients_.answer(asker, error_reply(answer.error()));
         auto& found = std::get<DefinitionsAnswer>(answer.value());
         if (found.next) page.reply.next = key_text({found.next.value});
         for (Definition& row : found.definitions) {
           // Most are not worth decoding. A parent has the task id of its child in its spec.
           if (row.spec.find(text) == std::string::npos) continue;
           const DefinitionId id = row.id;
           auto other = definition_of(std::move(row));
           ActiveDefinition* const ours = catalog_.definition(id);
           if (ours != nullptr) {
             take(page, *ours);
           } else if (other) {
             take(page, *other);
           }
           if (!page.is_full()) continue;
           page.reply.next = key_text({id.value});
           break;
         }
         clients_.answer(asker, std::move(page.reply));
       });
}

}  // namespace carillon::jobtracker
