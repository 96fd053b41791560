// Queries for versions of scripts.
#include <algorithm>
#include <utility>

#include "jobtracker/query/query.h"
#include "shared/base/time_text.h"

namespace carillon::jobtracker {
namespace {

wire::Message script_rows(const wire::Query& message, const Run& used,
                          std::vector<ScriptVersion> versions) {
  const auto is_used = [&](const ScriptVersion& script) {
    return script.source == used.script_source && script.language == used.script_language;
  };
  const auto in_use = std::find_if(versions.begin(), versions.end(), is_used);
  wire::Rows reply;
  for (auto script = versions.begin(); script != versions.end(); ++script) {
    const bool is_wanted =
        message.what == "scripts" ||
        (message.after.empty() ? script == in_use
                               : std::to_string(script->version) == message.after);
    if (!is_wanted) continue;
    reply.rows.push_back(
        {{"task_id", message.task_id},
         {"version", script->version},
         {"saved_at", format_time(WallTime{std::chrono::milliseconds{script->version}})},
         {"language", script->language},
         {"bytes", static_cast<std::int64_t>(script->source.size())},
         {"used", script == in_use},
         {"remark", script->remark}});
    if (message.what == "script") reply.rows.back().emplace_back("source", script->source);
  }
  if (message.what == "script" && reply.rows.empty()) {
    return wire::ErrorReply{Error{
        ErrorCode::kNotFound, message.after.empty()
                                  ? "no version of the script of '" + message.task_id + "' is kept"
                                  : "the script of '" + message.task_id + "' has no version '" +
                                        message.after +
                                        "' (jobclient scripts list shows the kept versions)"}};
  }
  return reply;
}

}  // namespace

// All versions without source, or one version with it.
void QueryDesk::scripts(const Asker& asker, const wire::Query& message) {
  const auto group = group_of(message);
  if (!group.ok()) return clients_.answer(asker, wire::ErrorReply{group.error()});
  const ActiveDefinition* definition =
      catalog_.definition(catalog_.part(group.value(), message.task_id), message.task_id);
  if (definition == nullptr || definition->spec.run.kind != RunKind::kScript) {
    return clients_.answer(
        asker, wire::ErrorReply{Error{ErrorCode::kNotFound, "no task '" + message.task_id +
                                                                "' of group '" + message.group +
                                                                "' with a script is defined"}});
  }
  read(asker, ListScripts{.definition = definition->row.id},
       [this, asker, message, used = definition->spec.run](Result<ReadAnswer> answer) {
         if (!answer.ok()) return clients_.answer(asker, wire::ErrorReply{answer.error()});
         auto& versions = std::get<ScriptsAnswer>(answer.value()).versions;
         clients_.answer(asker, script_rows(message, used, std::move(versions)));
       });
}

}  // namespace carillon::jobtracker
