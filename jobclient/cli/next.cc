#include "jobclient/cli/next.h"

#include <set>
#include <vector>

#include <nlohmann/json.hpp>

#include "jobclient/cli/job_words.h"
#include "jobclient/cli/line_reader.h"
#include "shared/base/time_text.h"
#include "shared/job/cron.h"
#include "shared/job/cron_note.h"
#include "shared/job/local_time.h"

namespace carillon::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kFiresMax = 100'000;
constexpr std::size_t kLineBytesMax = 64 * 1024;

struct Preview {
  Cron cron;
  Zone zone;
  DstRule dst = DstRule::kAuto;
  WallTime from{};
  std::int64_t count = 0;
};

Result<std::vector<WallTime>> fires_of(const Preview& preview) {
  CARILLON_TRY(preview.cron.check_will_fire(preview.from, preview.zone, preview.dst));
  std::vector<WallTime> fires;
  ZoneSpan span;
  WallTime after = preview.from;
  while (static_cast<std::int64_t>(fires.size()) < preview.count) {
    const auto fire = preview.cron.next(after, preview.zone, preview.dst, span);
    if (!fire) break;
    fires.push_back(*fire);
    after = *fire;
  }
  return fires;
}

Error wrong_count(const std::string& count) {
  return {ErrorCode::kInvalidArgument,
          "n " + count + " is out of range, it must be 1 to " + std::to_string(kFiresMax)};
}

Result<Preview> preview_of(const std::string& expression, const NextWishes& wishes, WallTime now,
                           const Result<Zone>& local) {
  const Cron cron = CARILLON_TRY(Cron::parse(expression));
  const Zone zone = CARILLON_TRY(wishes.tz.empty() ? local : Zone::load(wishes.tz));
  Preview preview{.cron = cron, .zone = zone};
  preview.dst = CARILLON_TRY(parse_dst_rule(wishes.dst));
  const Result<WallTime> start = wishes.from.empty() ? now : parse_time(wishes.from);
  if (!start.ok()) return start.error().with_context("from");
  preview.from = start.value();
  preview.count = wishes.number;
  return preview;
}

// What the object has of a name replaces `text`.
Status take_text(const Json& object, const char* name, std::string& text) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return {};
  if (!found->is_string()) {
    return Error{ErrorCode::kInvalidArgument, std::string{name} + " must be a text"};
  }
  const std::string& given = found->get_ref<const std::string&>();
  if (!given.empty()) text = given;
  return {};
}

Status take_count(const Json& object, std::int64_t& count) {
  const auto found = object.find("n");
  if (found == object.end()) return {};
  if (!found->is_number_integer()) {
    return Error{ErrorCode::kInvalidArgument, "n must be a whole number"};
  }
  // Those below zero have a sign, those too large for 64 bits with one have none.
  const bool fits = found->is_number_unsigned() && found->get<std::uint64_t>() >= 1 &&
                    found->get<std::uint64_t>() <= static_cast<std::uint64_t>(kFiresMax);
  if (!fits) return wrong_count(found->dump());
  count = found->get<std::int64_t>();
  return {};
}

Result<Json> object_of(std::string_view line) {
  std::set<std::string> names;
  std::string repeated;
  const auto note = [&](int depth, Json::parse_event_t event, Json& value) {
    if (event != Json::parse_event_t::key || depth != 1) return true;
    const std::string& name = value.get_ref<const std::string&>();
    if (!names.insert(name).second && repeated.empty()) repeated = name;
    return true;
  };
  Json object = Json::parse(line, note, false);
  if (!object.is_object()) {
    return Error{ErrorCode::kInvalidArgument,
                 "not a JSON object (write {\"cron\": \"0 0 2 * * ?\", \"tz\": \"UTC\"})"};
  }
  if (repeated.empty()) return object;
  return Error{ErrorCode::kInvalidArgument, repeated + " is given twice (give it once)"};
}

Result<std::vector<WallTime>> fires_for_line(std::string_view line, NextWishes wishes, WallTime now,
                                             const Result<Zone>& local) {
  const Json object = CARILLON_TRY(object_of(line));
  for (const auto& [name, value] : object.items()) {
    if (name != "cron" && name != "tz" && name != "dst" && name != "from" && name != "n") {
      return Error{ErrorCode::kInvalidArgument,
                   "unknown field '" + name + "' (known: cron, tz, dst, from, n)"};
    }
  }
  std::string expression;
  CARILLON_TRY(take_text(object, "cron", expression));
  if (expression.empty()) return Error{ErrorCode::kInvalidArgument, "cron is missing"};
  CARILLON_TRY(take_count(object, wishes.number));
  CARILLON_TRY(take_text(object, "tz", wishes.tz));
  CARILLON_TRY(take_text(object, "dst", wishes.dst));
  CARILLON_TRY(take_text(object, "from", wishes.from));
  return fires_of(CARILLON_TRY(preview_of(expression, wishes, now, local)));
}

// What a line with an error is told from by its beginning.
constexpr std::string_view kErrorBegins = "{\"error\":";

std::string error_line(const std::string& why) {
  return Json{{"error", why}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

NextWishes wishes_of(const Configuration& configuration) {
  return {.tz = configuration.text("tz"),
          .dst = configuration.text("dst"),
          .from = configuration.text("from"),
          .number = configuration.number("number")};
}

int run_next_lines(Context& context) {
  const NextWishes wishes = wishes_of(context.configuration);
  // They are wrong for each line; so that is said once, and before any is read.
  const Result<Preview> tried =
      preview_of("@daily", wishes, context.style.now, context.around.zone);
  if (!tried.ok() && (!wishes.tz.empty() || context.around.zone.ok())) {
    return context.fail(kWrongInput, tried.error().message);
  }
  LineReader reader(context.around.input, kLineBytesMax);
  bool all_answered = true;
  while (true) {
    if (!reader.has_line_now()) context.out().flush();
    const auto line = reader.next();
    if (!line) break;
    if (line->is_too_long) {
      all_answered = false;
      context.out() << error_line("the line is longer than " + std::to_string(kLineBytesMax) +
                                  " bytes")
                    << '\n';
      continue;
    }
    if (line->text.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string answer =
        answer_next_line(line->text, wishes, context.style.now, context.around.zone);
    all_answered = all_answered && !answer.starts_with(kErrorBegins);
    context.out() << answer << '\n';
  }
  return all_answered ? kDone : kRefused;
}

}  // namespace

Verb declare_next() {
  return {
      .name = "next",
      .summary = "Preview the fires of a cron expression",
      .description =
          "Prints the next fires of a Quartz (6 or 7 fields) or Unix (5 fields) expression and "
          "marks clock changes. Needs no job tracker.",
      .options = {{.name = "tz",
                   .placeholder = "ZONE",
                   .help = "Time zone, like Europe/Berlin.",
                   .fallback_help = "this machine's",
                   .if_empty = "leave it out for this machine's zone"},
                  {.name = "dst",
                   .placeholder = "RULE",
                   .help = "Rule for local times that a clock change skips or repeats.",
                   .fallback = "auto",
                   .choices = dst_rule_words()},
                  {.name = "from",
                   .placeholder = "TIME",
                   .help = "Only fires after this RFC 3339 time.",
                   .fallback_help = "now"},
                  {.name = "number",
                   .letter = 'n',
                   .kind = OptionKind::kNumber,
                   .placeholder = "N",
                   .help = "Number of fires.",
                   .fallback = std::to_string(NextWishes{}.number),
                   .min = 1,
                   .max = kFiresMax},
                  {.name = "stdin",
                   .kind = OptionKind::kSwitch,
                   .help = "Answer each JSON line {\"cron\", \"tz\", \"dst\", \"from\", \"n\"} "
                           "with a line {\"fires\": [...]} or {\"error\": \"...\"}. --tz, --dst, "
                           "--from and -n are the defaults of a line."}},
      .positionals = {{.name = "EXPR", .help = "The expression, quoted.", .required = false}},
      .examples =
          "  jobclient next '0 0 2 * * ?' --tz Europe/Berlin -n 3\n"
          "  jobclient next '*/10 9-17 * * MON-FRI' --from 2027-03-26T00:00:00Z\n"
          "  echo '{\"cron\": \"@daily\", \"tz\": \"UTC\", \"n\": 2}' | jobclient next --stdin\n",
      .section = "Schedules and help"};
}

int run_next(Context& context) {
  const Configuration& configuration = context.configuration;
  const bool from_lines = configuration.is_on("stdin");
  if (from_lines == configuration.has("EXPR")) {
    return context.fail(kWrongInput,
                        from_lines ? "an expression and --stdin contradict each other (give one)"
                                   : "EXPR is missing (quote it, like '0 0 2 * * ?')");
  }
  if (from_lines) return run_next_lines(context);
  const Result<Preview> preview = preview_of(configuration.text("EXPR"), wishes_of(configuration),
                                             context.style.now, context.around.zone);
  if (!preview.ok()) return context.fail(kWrongInput, preview.error().message);
  const Result<std::vector<WallTime>> fires = fires_of(preview.value());
  if (!fires.ok()) {
    return context.fail(kWrongInput,
                        "'" + configuration.text("EXPR") + "': " + fires.error().message);
  }
  const Zone& zone = preview.value().zone;
  RowOutput output(context.out(), context.style, {{"utc"}, {"local"}, {"note"}});
  for (const WallTime fire : fires.value()) {
    output.add(
        {{"utc", format_time(fire)},
         {"local", context.is_json() ? local_text(fire, zone) : local_text_for_people(fire, zone)},
         {"note", dst_note(fire, zone, preview.value().cron)}});
  }
  output.finish();
  return kDone;
}

std::string answer_next_line(std::string_view line, const NextWishes& wishes, WallTime now,
                             const Result<Zone>& local) {
  const Result<std::vector<WallTime>> fires = fires_for_line(line, wishes, now, local);
  if (!fires.ok()) return error_line(fires.error().message);
  std::string answer = "{\"fires\":[";
  for (std::size_t i = 0; i < fires.value().size(); ++i) {
    if (i > 0) answer += ',';
    answer += '"' + format_time(fires.value()[i]) + '"';
  }
  return answer + "]}";
}

}  // namespace carillon::cli
