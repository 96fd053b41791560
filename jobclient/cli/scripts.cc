#include "jobclient/cli/scripts.h"

#include "jobclient/cli/act.h"
#include "jobclient/cli/job_flags.h"
#include "jobclient/cli/other_groups.h"

namespace carillon::cli {
namespace {

Verb declare(const char* name, const char* summary, const char* description,
             std::vector<Option> options, const char* examples, const char* section) {
  options.insert(options.begin(), group_option(true, "The node group of the task."));
  return {.name = name,
          .summary = summary,
          .description = description,
          .options = std::move(options),
          .positionals = {{.name = "TASK_ID", .help = "The task."}},
          .examples = examples,
          .section = section};
}

Option remark_option() {
  return {.name = "remark", .placeholder = "TEXT", .help = "Note about the change."};
}

// "python2" is python, and "sh" bash.
std::string family_of(std::string language) {
  while (!language.empty() && language.back() >= '0' && language.back() <= '9') language.pop_back();
  return language == "sh" ? "bash" : language;
}

// Empty: none is named.
std::string version_of(const Configuration& configuration) {
  return configuration.has("number") ? std::to_string(configuration.number("number")) : "";
}

// Of a file that says of itself that it is of another language than the script before it.
Status check_language(JobClient& client, const TaskRef& task, const std::string& source,
                      const std::string& path) {
  const std::string language = language_of_script(source, path);
  if (language.empty()) return {};
  const Result<RowPage> page = client.scripts(task);
  if (!page.ok() || page.value().rows.empty()) return {};  // To set it says what is wrong.
  const std::string before = field_text(page.value().rows.front(), "language");
  if (family_of(language) == family_of(before)) return {};
  return Error{ErrorCode::kInvalidArgument, "'" + path + "' is " + language +
                                                " by its first line or ending, but the current "
                                                "script is " +
                                                before + " (give --language)"};
}

}  // namespace

Verb declare_scripts_list() {
  return declare("scripts list", "List the versions of a task's script",
                 "Lists the newest 30 versions, newest first. Each submission, replacement and "
                 "scripts set adds a version.",
                 {}, "  jobclient scripts list nightly --group ops\n", "See what is going on");
}

Verb declare_scripts_show() {
  return declare("scripts show", "Print the text of a task's script",
                 "Prints the version in use, or another one.",
                 {{.name = "number",
                   .kind = OptionKind::kNumber,
                   .placeholder = "N",
                   .help = "The version, from scripts list.",
                   .fallback_help = "the one in use",
                   .min = 1}},
                 "  jobclient scripts show nightly --group ops > nightly.sh\n",
                 "See what is going on");
}

Verb declare_scripts_set() {
  Verb verb = declare(
      "scripts set", "Change a task's script",
      "Runs that start from now on use it, including retries. A current run continues with the "
      "old one. The rest of the task is unchanged.",
      {{.name = "file", .placeholder = "FILE", .help = "File with the text; - is stdin."},
       {.name = "language",
        .placeholder = "NAME",
        .help = "Language, like bash, python or node.",
        .fallback_help = "unchanged"},
       remark_option()},
      "  jobclient scripts set nightly --file nightly.sh --remark 'skips empty files'\n",
      "Act on jobs");
  return verb;
}

Verb declare_scripts_restore() {
  return declare("scripts restore", "Restore an earlier version of a task's script",
                 "Adds a new version with its text.",
                 {{.name = "number",
                   .kind = OptionKind::kNumber,
                   .placeholder = "N",
                   .help = "The version, from scripts list.",
                   .min = 1},
                  remark_option()},
                 "  jobclient scripts restore nightly --number 1795363140123\n", "Act on jobs");
}

int run_scripts_list(Context& context) {
  const auto client = context.client();
  if (!client.ok()) return context.fail(kWrongInput, client.error().message);
  const TaskRef task = context.task();
  const Result<RowPage> page = client.value()->scripts(task);
  if (!page.ok()) return context.fail(name_other_groups(context, task, page.error()));
  RowOutput output(context.out(), context.style,
                   {{"version", ColumnKind::kKey},
                    {"saved_at", ColumnKind::kTime},
                    {"language"},
                    {"bytes", ColumnKind::kNumber},
                    {"used"},
                    {"remark", ColumnKind::kLong}});
  for (const Row& row : page.value().rows) output.add(row);
  output.finish();
  return kDone;
}

int run_scripts_show(Context& context) {
  const auto client = context.client();
  if (!client.ok()) return context.fail(kWrongInput, client.error().message);
  const TaskRef task = context.task();
  const Result<RowPage> page = client.value()->script(task, version_of(context.configuration));
  if (!page.ok()) return context.fail(name_other_groups(context, task, page.error()));
  for (const Row& row : page.value().rows) {
    if (context.is_json()) {
      print_one_row(context.out(), context.style, row);
    } else {
      context.out() << context.for_out(field_text(row, "source"));
    }
  }
  return kDone;
}

int run_scripts_set(Context& context) {
  const Configuration& configuration = context.configuration;
  const std::string& path = configuration.text("file");
  if (path.empty()) return context.fail(kWrongInput, "--file is missing (- is stdin)");
  Result<std::string> source = read_file(path, kCommandBytesMax, context.around.input);
  if (!source.ok()) return context.fail(kWrongInput, source.error().message);
  const auto client = context.client();
  if (!client.ok()) return context.fail(kWrongInput, client.error().message);
  const TaskRef task = context.task();
  if (configuration.text("language").empty()) {
    const Status fits = check_language(*client.value(), task, source.value(), path);
    if (!fits.ok()) return context.fail(kWrongInput, fits.error().message);
  }
  return print_act_answer(
      context, task,
      client.value()->set_script(task, {.language = configuration.text("language"),
                                        .source = std::move(source).value(),
                                        .remark = configuration.text("remark")}));
}

int run_scripts_restore(Context& context) {
  const Configuration& configuration = context.configuration;
  const std::string version = version_of(configuration);
  if (version.empty())
    return context.fail(kWrongInput,
                        "--number is missing (jobclient scripts list shows the versions)");
  const auto client = context.client();
  if (!client.ok()) return context.fail(kWrongInput, client.error().message);
  const TaskRef task = context.task();
  return print_act_answer(
      context, task, client.value()->restore_script(task, version, configuration.text("remark")));
}

}  // namespace carillon::cli
