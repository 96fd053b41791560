#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "shared/base/joined.h"
#include "shared/base/nearest_word.h"
#include "shared/base/time_text.h"
#include "shared/job/job_limits.h"
#include "shared/wire/base64.h"
#include "shared/wire/spec_json.h"
#include "shared/wire/spec_words.h"

namespace carillon::wire {
namespace {

using Json = nlohmann::ordered_json;

Error wrong(const std::string& problem) { return {ErrorCode::kInvalidArgument, problem}; }

Error wrong_type(const std::string& field, const Json& value, const std::string& wanted) {
  const bool is_short = value.is_number() || value.is_boolean();
  return wrong(field + " is " + (is_short ? value.dump() : value.type_name()) + ", must be " +
               wanted);
}

Result<std::string> text(const std::string& field, const Json& value) {
  if (!value.is_string()) return wrong_type(field, value, "text");
  return value.get<std::string>();
}

// Requires: min is 0 or 1.
Result<std::int64_t> whole_number(const std::string& field, const Json& value, std::int64_t min,
                                  std::int64_t max) {
  if (!value.is_number_integer()) return wrong_type(field, value, "a whole number");
  // Negative numbers have a sign; numbers beyond 64 bits are parsed without one.
  const bool fits = value.is_number_unsigned() &&
                    value.get<std::uint64_t>() >= static_cast<std::uint64_t>(min) &&
                    value.get<std::uint64_t>() <= static_cast<std::uint64_t>(max);
  if (fits) return value.get<std::int64_t>();
  return wrong(field + " is " + value.dump() + ", must be " + std::to_string(min) + " to " +
               std::to_string(max));
}

Result<int> small_number(const std::string& field, const Json& value, int max) {
  return static_cast<int>(CARILLON_TRY(whole_number(field, value, 0, max)));
}

Result<bool> yes_or_no(const std::string& field, const Json& value) {
  if (!value.is_boolean()) return wrong_type(field, value, "true or false");
  return value.get<bool>();
}

Status only_true(const std::string& field, const Json& value) {
  if (CARILLON_TRY(yes_or_no(field, value))) return {};
  return wrong(field + " is false, must be true or left out");
}

Result<Duration> duration(const std::string& field, const Json& value) {
  if (!value.is_string()) return wrong_type(field, value, "a duration like \"30s\"");
  auto parsed = parse_duration(value.get_ref<const std::string&>());
  if (!parsed.ok()) return parsed.error().with_context(field);
  return parsed;
}

Result<WallTime> time(const std::string& field, const Json& value) {
  if (!value.is_string()) return wrong_type(field, value, "a time like \"2026-11-21T08:00:00Z\"");
  auto parsed = parse_time(value.get_ref<const std::string&>());
  if (!parsed.ok()) return parsed.error().with_context(field);
  return parsed;
}

Result<std::vector<std::string>> texts(const std::string& field, const Json& value) {
  if (!value.is_array()) return wrong_type(field, value, "a list of texts");
  std::vector<std::string> list;
  for (const Json& element : value)
    list.push_back(CARILLON_TRY(text("a part of " + field, element)));
  return list;
}

Result<std::map<std::string, std::string>> text_map(const std::string& field, const Json& value) {
  if (!value.is_object()) return wrong_type(field, value, "an object of texts");
  std::map<std::string, std::string> map;
  for (const auto& [key, element] : value.items()) {
    map[key] = CARILLON_TRY(text(field + "." + key, element));
  }
  return map;
}

template <class Enum, std::size_t kCount>
Result<Enum> word(const std::string& field, const Json& value, const Words<Enum, kCount>& words) {
  const std::string given = CARILLON_TRY(text(field, value));
  std::vector<std::string> all;
  for (const auto& [known, number] : words) {
    if (known == given) return number;
    all.emplace_back(known);
  }
  return wrong(field + " is '" + given + "', must be one of " + joined(all, ", ") +
               did_you_mean(given, all));
}

// A job under construction, with data to compare after all fields were read.
struct Draft {
  JobSpec& spec;
  std::vector<std::string> schedules{};  // which of now, at, cron, ... are given
  std::vector<std::string> runs{};       // which of command, shell, ... are given
  std::vector<std::string> payloads{};
  std::vector<std::string> for_cron{};
  std::vector<std::string> for_repeating{};
  std::vector<std::string> for_push{};
  bool has_block = false;
  bool has_overlap = false;
};

// The fields of an object, and how to read each into a T.
template <class T>
struct FieldReader {
  std::string_view name{};
  Status (*read)(T&, const std::string& field, const Json& value) = nullptr;
};

Status refuse_unsupported(Draft&, const std::string& field, const Json&) {
  return wrong(field + " is not supported yet");
}

template <class T, std::size_t kCount>
Status read_object(T& target, const std::string& where, const Json& object,
                   const std::array<FieldReader<T>, kCount>& readers) {
  for (const auto& [name, value] : object.items()) {
    const auto found = std::find_if(readers.begin(), readers.end(),
                                    [&](const FieldReader<T>& r) { return r.name == name; });
    if (found == readers.end()) {
      std::vector<std::string> known;
      for (const FieldReader<T>& reader : readers) known.emplace_back(reader.name);
      return wrong("unknown field '" + where + name + "'" + did_you_mean(name, known));
    }
    CARILLON_TRY(found->read(target, where + name, value));
  }
  return {};
}

const std::array<FieldReader<RetryPolicy>, 5> kRetryFields{{
    {"max",
     [](RetryPolicy& r, const std::string& field, const Json& value) -> Status {
       r.max = CARILLON_TRY(small_number(field, value, kRetriesMax));
       return {};
     }},
    {"policy",
     [](RetryPolicy& r, const std::string& field, const Json& value) -> Status {
       r.policy = CARILLON_TRY(word(field, value, kBackoffWords));
       return {};
     }},
    {"base",
     [](RetryPolicy& r, const std::string& field, const Json& value) -> Status {
       r.base = CARILLON_TRY(duration(field, value));
       return {};
     }},
    {"cap",
     [](RetryPolicy& r, const std::string& field, const Json& value) -> Status {
       r.cap = CARILLON_TRY(duration(field, value));
       return {};
     }},
    {"jitter",
     [](RetryPolicy& r, const std::string& field, const Json& value) -> Status {
       if (!value.is_number()) return wrong_type(field, value, "a number");
       r.jitter = value.get<double>();
       return {};
     }},
}};

const std::array<FieldReader<Misfire>, 4> kMisfireFields{{
    {"policy",
     [](Misfire& m, const std::string& field, const Json& value) -> Status {
       m.policy = CARILLON_TRY(word(field, value, kMisfireWords));
       return {};
     }},
    {"max",
     [](Misfire& m, const std::string& field, const Json& value) -> Status {
       m.max = CARILLON_TRY(whole_number(field, value, 1, kMisfiresMax));
       return {};
     }},
    {"window",
     [](Misfire& m, const std::string& field, const Json& value) -> Status {
       m.window = CARILLON_TRY(duration(field, value));
       return {};
     }},
    {"threshold",
     [](Misfire& m, const std::string& field, const Json& value) -> Status {
       m.threshold = CARILLON_TRY(duration(field, value));
       return {};
     }},
}};

const std::array<FieldReader<Run>, 3> kScriptFields{{
    {"language",
     [](Run& run, const std::string& field, const Json& value) -> Status {
       run.script_language = CARILLON_TRY(text(field, value));
       return {};
     }},
    {"source",
     [](Run& run, const std::string& field, const Json& value) -> Status {
       run.script_source = CARILLON_TRY(text(field, value));
       return {};
     }},
    {"remark",
     [](Run& run, const std::string& field, const Json& value) -> Status {
       run.script_remark = CARILLON_TRY(text(field, value));
       return {};
     }},
}};

const std::array<FieldReader<HttpRequest>, 4> kHttpFields{{
    {"method",
     [](HttpRequest& http, const std::string& field, const Json& value) -> Status {
       http.method = CARILLON_TRY(text(field, value));
       return {};
     }},
    {"url",
     [](HttpRequest& http, const std::string& field, const Json& value) -> Status {
       http.url = CARILLON_TRY(text(field, value));
       return {};
     }},
    {"headers",
     [](HttpRequest& http, const std::string& field, const Json& value) -> Status {
       http.headers = CARILLON_TRY(text_map(field, value));
       return {};
     }},
    {"body",
     [](HttpRequest& http, const std::string& field, const Json& value) -> Status {
       http.body = CARILLON_TRY(text(field, value));
       return {};
     }},
}};

const std::array<FieldReader<Child>, 2> kChildFields{{
    {"group",
     [](Child& child, const std::string& field, const Json& value) -> Status {
       child.group = CARILLON_TRY(text(field, value));
       return {};
     }},
    {"task_id",
     [](Child& child, const std::string& field, const Json& value) -> Status {
       child.task_id = CARILLON_TRY(text(field, value));
       return {};
     }},
}};

Status read_schedule(Draft& draft, const std::string& field, const Json& value) {
  Schedule& schedule = draft.spec.schedule;
  draft.schedules.push_back(field);
  if (field == "now") {
    schedule.kind = ScheduleKind::kNow;
    return only_true(field, value);
  }
  if (field == "manual") {
    schedule.kind = ScheduleKind::kManual;
    return only_true(field, value);
  }
  if (field == "at") {
    schedule.kind = ScheduleKind::kAt;
    schedule.at = CARILLON_TRY(time(field, value));
  } else if (field == "cron") {
    schedule.kind = ScheduleKind::kCron;
    schedule.cron = CARILLON_TRY(text(field, value));
  } else {
    schedule.kind = field == "every" ? ScheduleKind::kEvery : ScheduleKind::kFixedDelay;
    schedule.interval = CARILLON_TRY(duration(field, value));
  }
  return {};
}

Status read_run(Draft& draft, const std::string& field, const Json& value) {
  Run& run = draft.spec.run;
  draft.runs.push_back(field);
  if (field == "handler") {
    run.kind = RunKind::kHandler;
    run.handler = CARILLON_TRY(text(field, value));
  } else if (field == "command") {
    run.kind = RunKind::kCommand;
    run.command = CARILLON_TRY(texts(field, value));
  } else if (field == "shell") {
    run.kind = RunKind::kShell;
    run.shell = CARILLON_TRY(text(field, value));
  } else if (field == "script") {
    run.kind = RunKind::kScript;
    if (!value.is_object()) return wrong_type(field, value, "an object");
    CARILLON_TRY(read_object(run, "script.", value, kScriptFields));
  } else {
    run.kind = RunKind::kHttp;
    if (!value.is_object()) return wrong_type(field, value, "an object");
    CARILLON_TRY(read_object(run.http, "http.", value, kHttpFields));
  }
  return {};
}

Status read_schedule_detail(Draft& draft, const std::string& field, const Json& value) {
  Schedule& schedule = draft.spec.schedule;
  const bool is_for_cron = field == "tz" || field == "dst";
  (is_for_cron ? draft.for_cron : draft.for_repeating).push_back(field);
  if (field == "tz") {
    schedule.tz = CARILLON_TRY(text(field, value));
  } else if (field == "dst") {
    schedule.dst = CARILLON_TRY(word(field, value, kDstWords));
  } else if (field == "count") {
    schedule.count = CARILLON_TRY(whole_number(field, value, 1, INT64_MAX));
  } else {
    schedule.first = CARILLON_TRY(time(field, value));
  }
  return {};
}

Status read_payload(Draft& draft, const std::string& field, const Json& value) {
  draft.payloads.push_back(field);
  draft.spec.payload = CARILLON_TRY(text(field, value));
  if (field == "payload") return {};
  auto bytes = from_base64(draft.spec.payload);
  if (!bytes && draft.spec.payload.ends_with('=') && draft.spec.payload.size() % 4 != 0) {
    return wrong(field +
                 " has wrong padding (use '=' up to a multiple of four characters, or leave it "
                 "out)");
  }
  if (!bytes) return wrong(field + " is not base64");
  draft.spec.payload = std::move(*bytes);
  return {};
}

Status read_retries(Draft& draft, const std::string& field, const Json& value) {
  RetryPolicy& retries = draft.spec.retries;
  if (value.is_object()) {
    CARILLON_TRY(read_object(retries, "retries.", value, kRetryFields));
    // Not base: a run that asks for "later" uses it too, even without retries.
    for (const char* detail : {"policy", "cap", "jitter"}) {
      if (retries.max > 0 || !value.contains(detail)) continue;
      return wrong("retries." + std::string{detail} +
                   " cannot be combined with retries.max 0 (say how many retries)");
    }
    if (!value.contains("cap")) {
      retries.cap = std::max(retries.cap, retries.base);
    } else if (retries.policy != RetryBackoff::kExponential) {
      return wrong(
          "retries.cap cannot be combined with retries.policy fixed, only with exponential");
    }
    return {};
  }
  if (!value.is_number_integer()) return wrong_type(field, value, "a whole number or an object");
  retries.max = CARILLON_TRY(small_number(field, value, kRetriesMax));
  return {};
}

Status read_misfire(Draft& draft, const std::string& field, const Json& value) {
  Misfire& misfire = draft.spec.misfire;
  if (value.is_object()) {
    CARILLON_TRY(read_object(misfire, "misfire.", value, kMisfireFields));
    if (misfire.policy == MisfirePolicy::kFireAll) return {};
    for (const char* detail : {"max", "window"}) {
      if (!value.contains(detail)) continue;
      return wrong("misfire." + std::string{detail} + " cannot be combined with misfire.policy " +
                   std::string{word_of(misfire.policy, kMisfireWords)} + ", only with fire_all");
    }
    return {};
  }
  if (!value.is_string()) return wrong_type(field, value, "a word or an object");
  misfire.policy = CARILLON_TRY(word(field, value, kMisfireWords));
  return {};
}

// A field that is plain text.
template <std::string JobSpec::*kMember>
Status read_text(Draft& draft, const std::string& field, const Json& value) {
  draft.spec.*kMember = CARILLON_TRY(text(field, value));
  return {};
}

Status read_task_id(Draft& draft, const std::string& field, const Json& value) {
  draft.spec.task_id = CARILLON_TRY(text(field, value));
  if (!draft.spec.task_id.empty()) return {};
  return wrong(field + " is empty (leave it out to get a generated one)");
}

template <Duration JobSpec::*kMember>
Status read_duration(Draft& draft, const std::string& field, const Json& value) {
  draft.spec.*kMember = CARILLON_TRY(duration(field, value));
  return {};
}

template <std::vector<std::string> JobSpec::*kMember>
Status read_texts(Draft& draft, const std::string& field, const Json& value) {
  draft.spec.*kMember = CARILLON_TRY(texts(field, value));
  return {};
}

Status read_priority(Draft& draft, const std::string& field, const Json& value) {
  draft.spec.priority = CARILLON_TRY(small_number(field, value, kPriorityMax));
  return {};
}

Status read_params(Draft& draft, const std::string& field, const Json& value) {
  draft.spec.params = CARILLON_TRY(text_map(field, value));
  return {};
}

Status read_dispatch(Draft& draft, const std::string& field, const Json& value) {
  draft.spec.dispatch = CARILLON_TRY(word(field, value, kDispatchWords));
  return {};
}

Status read_push(Draft& draft, const std::string& field, const Json& value) {
  Push& push = draft.spec.push;
  if (field == "route") {
    push.route = CARILLON_TRY(word(field, value, kRouteWords));
  } else if (field == "block") {
    push.block = CARILLON_TRY(word(field, value, kBlockWords));
    draft.has_block = true;
  } else {
    push.addresses = CARILLON_TRY(texts(field, value));
  }
  draft.for_push.push_back(field);
  return {};
}

Status read_overlap(Draft& draft, const std::string& field, const Json& value) {
  draft.has_overlap = true;
  draft.spec.overlap = CARILLON_TRY(word(field, value, kOverlapWords));
  return {};
}

template <bool JobSpec::*kMember>
Status read_yes_or_no(Draft& draft, const std::string& field, const Json& value) {
  draft.spec.*kMember = CARILLON_TRY(yes_or_no(field, value));
  return {};
}

Status read_children(Draft& draft, const std::string& field, const Json& value) {
  if (!value.is_array()) return wrong_type(field, value, "a list of objects");
  for (const Json& element : value) {
    if (!element.is_object()) return wrong_type("a part of " + field, element, "an object");
    Child child;
    CARILLON_TRY(read_object(child, field + ".", element, kChildFields));
    draft.spec.children.push_back(std::move(child));
  }
  return {};
}

const std::array<FieldReader<Draft>, 40> kJobFields{{
    {"task_id", read_task_id},
    {"group", read_text<&JobSpec::group>},
    {"description", read_text<&JobSpec::description>},
    {"owner", read_text<&JobSpec::owner>},
    {"tags", read_texts<&JobSpec::tags>},
    {"now", read_schedule},
    {"at", read_schedule},
    {"cron", read_schedule},
    {"every", read_schedule},
    {"fixed_delay", read_schedule},
    {"manual", read_schedule},
    {"tz", read_schedule_detail},
    {"dst", read_schedule_detail},
    {"count", read_schedule_detail},
    {"first", read_schedule_detail},
    {"priority", read_priority},
    {"params", read_params},
    {"payload", read_payload},
    {"payload_base64", read_payload},
    {"handler", read_run},
    {"command", read_run},
    {"shell", read_run},
    {"script", read_run},
    {"http", read_run},
    {"retries", read_retries},
    {"timeout", read_duration<&JobSpec::timeout>},
    {"start_deadline", read_duration<&JobSpec::start_deadline>},
    {"overlap", read_overlap},
    {"misfire", read_misfire},
    {"replace_on_exist", read_yes_or_no<&JobSpec::replace_on_exist>},
    {"dispatch", read_dispatch},
    {"route", read_push},
    {"block", read_push},
    {"addresses", read_push},
    {"shards", refuse_unsupported},
    {"need_feedback", read_yes_or_no<&JobSpec::need_feedback>},
    {"client_group", read_text<&JobSpec::client_group>},
    {"children", read_children},
    {"alarm", read_texts<&JobSpec::alarm>},
    {"traceparent", read_text<&JobSpec::traceparent>},
}};

Status check_one_of(const std::vector<std::string>& given) {
  if (given.size() < 2) return {};
  return wrong(given[0] + " and " + given[1] + " contradict each other, give one");
}

Status check_whole(const Draft& draft) {
  CARILLON_TRY(check_one_of(draft.schedules));
  CARILLON_TRY(check_one_of(draft.runs));
  CARILLON_TRY(check_one_of(draft.payloads));
  const std::string schedule = draft.schedules.empty() ? "now" : draft.schedules[0];
  const ScheduleKind kind = draft.spec.schedule.kind;
  if (kind != ScheduleKind::kCron && !draft.for_cron.empty()) {
    return wrong(draft.for_cron[0] + " cannot be combined with " + schedule + ", only with cron");
  }
  const bool repeats = kind == ScheduleKind::kEvery || kind == ScheduleKind::kFixedDelay;
  if (!repeats && !draft.for_repeating.empty()) {
    return wrong(draft.for_repeating[0] + " cannot be combined with " + schedule +
                 ", only with every and fixed_delay");
  }
  const Dispatch dispatch = draft.spec.dispatch;
  if (dispatch == Dispatch::kPull && !draft.for_push.empty()) {
    return wrong(draft.for_push[0] + " cannot be combined with dispatch pull, only with push");
  }
  if (!draft.runs.empty()) return {};
  return wrong("nothing to run: give one of command, shell, script, http, handler");
}

struct Parsed {
  Json value{};
  std::string repeated{};  // a repeated field, which the value contains only once
};

// The only place that converts an exception of the JSON library to an Error.
Result<Parsed> parse(std::string_view given) {
  struct Level {
    std::set<std::string> fields{};
    std::string now{};  // the field being read
  };
  std::vector<Level> levels;  // of the enclosing objects
  std::string repeated;
  const auto note = [&](int, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) {
      levels.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      levels.pop_back();
    } else if (event == Json::parse_event_t::key) {
      levels.back().now = value.get<std::string>();
      const bool is_new = levels.back().fields.insert(levels.back().now).second;
      if (is_new || !repeated.empty()) return true;
      for (const Level& level : levels) repeated += (repeated.empty() ? "" : ".") + level.now;
    }
    return true;
  };
  try {
    Json value = Json::parse(given, note);
    return Parsed{.value = std::move(value), .repeated = std::move(repeated)};
  } catch (const Json::parse_error& failure) {
    return wrong("not JSON at character " + std::to_string(failure.byte));
  } catch (const Json::out_of_range&) {
    return wrong("a number is too large, must be within a double's range (1e308)");
  }
}

}  // namespace

Result<JobSpec> spec_from_json(std::string_view given) {
  const auto [object, repeated] = CARILLON_TRY(parse(given));
  if (!object.is_object()) return wrong_type("the job", object, "an object");
  if (!repeated.empty()) return wrong(repeated + " is given twice (give it once)");
  JobSpec spec;
  Draft draft{.spec = spec};
  CARILLON_TRY(read_object(draft, "", object, kJobFields));
  CARILLON_TRY(check_whole(draft));
  if (!draft.for_push.empty()) spec.dispatch = Dispatch::kPush;
  if (draft.has_block && !draft.has_overlap) spec.overlap = overlap_of(spec.push.block);
  return spec;
}

NamedTask task_named_in(std::string_view given) {
  const auto parsed = parse(given);
  if (!parsed.ok() || !parsed.value().value.is_object()) return {};
  NamedTask task{.group = JobSpec{}.group};
  for (const auto& [name, value] : parsed.value().value.items()) {
    if (!value.is_string()) continue;
    const bool is_known = name != parsed.value().repeated;
    if (name == "task_id" && is_known) task.task_id = value.get<std::string>();
    if (name == "group") task.group = is_known ? value.get<std::string>() : std::string{};
  }
  return task;
}

}  // namespace carillon::wire
