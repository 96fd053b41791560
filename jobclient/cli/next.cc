#include "jobclient/cli/next.h"

#include <vector>

#include <nlohmann/json.hpp>

#include "jobclient/cli/job_words.h"
#include "jobclient/cli/line_reader.h"
#include "jobclient/cli/local_time.h"
#include "shared/base/time_text.h"
#include "shared/job/cron.h"
#include "shared/job/cron_note.h"

namespace carillon::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kFiresDefault = 10;
constexpr std::int64_t kFiresMax = 100'000;
constexpr std::size_t kLineBytesMax = 64 * 1024;

struct Preview {
  Cron cron;
  Zone zone;
  DstRule dst = DstRule::kAuto;
  WallTime from{};
  std::int64_t count = kFiresDefault;
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

Result<Preview> preview_of(const std::string& expression, const std::string& tz,
                           const std::string& dst, const std::string& from, std::int64_t count,
                           WallTime now, const Result<Zone>& local) {
  const Cron cron = CARILLON_TRY(Cron::parse(expression));
  const Zone zone = CARILLON_TRY(tz.empty() ? local : Zone::load(tz));
  Preview preview{.cron = cron, .zone = zone};
  preview.dst = CARILLON_TRY(parse_dst_rule(dst.empty() ? "auto" : dst));
  const Result<WallTime> start = from.empty() ? now : parse_time(from);
  if (!start.ok()) return start.error().with_context("from");
  preview.from = start.value();
  if (count < 1 || count > kFiresMax) {
    return Error{ErrorCode::kInvalidArgument, "n " + std::to_string(count) +
                                                  " is out of range, it must be 1 to " +
                                                  std::to_string(kFiresMax)};
  }
  preview.count = count;
  return preview;
}

Result<std::string> text_in(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return std::string{};
  if (!found->is_string()) {
    return Error{ErrorCode::kInvalidArgument, std::string{name} + " must be a text"};
  }
  return found->get<std::string>();
}

Result<std::vector<WallTime>> fires_for_line(std::string_view line, WallTime now,
                                             const Result<Zone>& local) {
  const Json object = Json::parse(line, nullptr, false);
  if (!object.is_object()) {
    return Error{ErrorCode::kInvalidArgument,
                 "not a JSON object (write {\"cron\": \"0 0 2 * * ?\", \"tz\": \"UTC\"})"};
  }
  for (const auto& [name, value] : object.items()) {
    if (name != "cron" && name != "tz" && name != "dst" && name != "from" && name != "n") {
      return Error{ErrorCode::kInvalidArgument,
                   "unknown field '" + name + "' (known: cron, tz, dst, from, n)"};
    }
  }
  const std::string expression = CARILLON_TRY(text_in(object, "cron"));
  if (expression.empty()) return Error{ErrorCode::kInvalidArgument, "cron is missing"};
  std::int64_t count = kFiresDefault;
  if (const auto found = object.find("n"); found != object.end()) {
    if (!found->is_number_integer()) {
      return Error{ErrorCode::kInvalidArgument, "n must be a whole number"};
    }
    count = found->get<std::int64_t>();
  }
  const std::string tz = CARILLON_TRY(text_in(object, "tz"));
  const std::string dst = CARILLON_TRY(text_in(object, "dst"));
  const std::string from = CARILLON_TRY(text_in(object, "from"));
  return fires_of(CARILLON_TRY(preview_of(expression, tz, dst, from, count, now, local)));
}

int run_next_lines(Context& context) {
  LineReader reader(context.around.input, kLineBytesMax);
  while (true) {
    if (!reader.has_line_now()) context.out().flush();
    const auto line = reader.next();
    if (!line) break;
    if (line->text.find_first_not_of(" \t\r") == std::string::npos) continue;
    context.out() << answer_next_line(line->is_too_long ? "" : line->text, context.style.now,
                                      context.around.zone)
                  << '\n';
  }
  return kDone;
}

}  // namespace

Verb declare_next() {
  return {
      .name = "next",
      .summary = "When a cron expression fires",
      .description =
          "Previews the coming fires of a Quartz (6 or 7 fields) or Unix (5 fields) expression. "
          "Days on which the clocks change are marked. Needs no job tracker.",
      .options = {{.name = "tz",
                   .placeholder = "ZONE",
                   .help = "Time zone, like Europe/Berlin.",
                   .fallback_help = "this machine's",
                   .if_empty = "leave it out for this machine's zone"},
                  {.name = "dst",
                   .placeholder = "RULE",
                   .help = "What to do with local times that a change of the clocks skips or "
                           "repeats.",
                   .fallback = "auto",
                   .choices = dst_rule_words()},
                  {.name = "from",
                   .placeholder = "TIME",
                   .help = "Fires later than this RFC 3339 time.",
                   .fallback_help = "now"},
                  {.name = "number",
                   .letter = 'n',
                   .kind = OptionKind::kNumber,
                   .placeholder = "N",
                   .help = "How many fires.",
                   .fallback = std::to_string(kFiresDefault),
                   .min = 1,
                   .max = kFiresMax},
                  {.name = "stdin",
                   .kind = OptionKind::kSwitch,
                   .help = "Answer each JSON line {\"cron\", \"tz\", \"dst\", \"from\", \"n\"} "
                           "with a line {\"fires\": [...]} or {\"error\": \"...\"}."}},
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
                                   : "which expression? (give it in quotes, like '0 0 2 * * ?')");
  }
  if (from_lines) return run_next_lines(context);
  const Result<Preview> preview =
      preview_of(configuration.text("EXPR"), configuration.text("tz"), configuration.text("dst"),
                 configuration.text("from"), configuration.number("number"), context.style.now,
                 context.around.zone);
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

std::string answer_next_line(std::string_view line, WallTime now, const Result<Zone>& local) {
  const Result<std::vector<WallTime>> fires = fires_for_line(line, now, local);
  if (!fires.ok()) return Json{{"error", fires.error().message}}.dump();
  std::string answer = "{\"fires\":[";
  for (std::size_t i = 0; i < fires.value().size(); ++i) {
    if (i > 0) answer += ',';
    answer += '"' + format_time(fires.value()[i]) + '"';
  }
  return answer + "]}";
}

}  // namespace carillon::cli
