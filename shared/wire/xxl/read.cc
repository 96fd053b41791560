#include "shared/wire/xxl/read.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <simdjson.h>

#include "shared/base/utf8.h"

namespace carillon::wire::xxl {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

constexpr std::size_t kQuotedBytesMax = 200;
constexpr std::size_t kEscapeBytes = 6;  // length of \uXXXX

Error refused(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

// For a log line: invalid UTF-8 becomes U+FFFD.
std::string quoted(std::string_view body) {
  std::string quote;
  for (std::string_view left = first_bytes(body, kQuotedBytesMax); !left.empty();) {
    const std::size_t bytes = first_character(left).bytes;
    quote += bytes == 0 ? kReplacementCharacter : left.substr(0, bytes);
    left.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return body.size() <= kQuotedBytesMax ? quote : quote + "...";
}

// A document with the parser that owns its values.
class Document {
 public:
  static Result<element> parse(Document& document, std::string_view body) {
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    if (body.starts_with(kByteOrderMark)) body.remove_prefix(kByteOrderMark.size());
    element root;
    const simdjson::error_code failure =
        document.parser_.parse(body.data(), body.size(), /*realloc_if_needed=*/true).get(root);
    if (failure != simdjson::SUCCESS) {
      return refused(std::string{"the body is not JSON: "} + simdjson::error_message(failure));
    }
    return root;
  }

 private:
  simdjson::dom::parser parser_;
};

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::int64_t> number_in(const element& value) {
  constexpr double kExactMax = 9007199254740992.0;  // 2^53
  switch (value.type()) {
    case element_type::INT64:
      return value.get_int64().value_unsafe();
    case element_type::DOUBLE: {
      const double number = value.get_double().value_unsafe();
      if (std::floor(number) != number || std::abs(number) > kExactMax) return std::nullopt;
      return static_cast<std::int64_t>(number);
    }
    case element_type::STRING:
      return number_in(value.get_string().value_unsafe());
    default:
      return std::nullopt;
  }
}

// A number beyond all fields' ranges, for which a parser rejects the whole document.
bool is_beyond_bounds(std::string_view token) {
  if (token.find_first_of(".eE") == std::string_view::npos) return !number_in(token);
  double number = 0;
  const auto read = std::from_chars(token.data(), token.data() + token.size(), number);
  return read.ec == std::errc::result_out_of_range;
}

// The number of leading characters that may belong to a number.
std::size_t number_bytes(std::string_view text) {
  return std::min(text.find_first_not_of("+-.0123456789eE"), text.size());
}

bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x80 && c != '\\';
}

// The code unit of a \uXXXX.
std::optional<std::uint32_t> unit_at(std::string_view text, std::size_t at) {
  if (text.size() < at + kEscapeBytes || text.substr(at, 2) != "\\u") return std::nullopt;
  std::uint32_t unit = 0;
  const char* const end = text.data() + at + kEscapeBytes;
  const auto read = std::from_chars(text.data() + at + 2, end, unit, 16);
  if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
  return unit;
}

// The JSON form of the start of a text, and the number of bytes that it replaces.
std::pair<std::string, std::size_t> repaired_character(std::string_view text) {
  if (const auto unit = unit_at(text, 0); unit && *unit >= 0xd800 && *unit < 0xe000) {
    const auto next = unit_at(text, kEscapeBytes);
    const bool is_pair = *unit < 0xdc00 && next && *next >= 0xdc00 && *next < 0xe000;
    if (!is_pair) return {std::string{kReplacementCharacter}, kEscapeBytes};
    return {std::string{text.substr(0, 2 * kEscapeBytes)}, 2 * kEscapeBytes};
  }
  if (text.front() == '\\') return {std::string{text.substr(0, 2)}, 2};
  if (const auto control = static_cast<unsigned char>(text.front()); control < 0x20) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    return {std::string{"\\u00"} + kDigits[control >> 4U] + kDigits[control & 0xFU], 1};
  }
  const std::size_t bytes = first_character(text).bytes;
  if (bytes == 0) return {std::string{kReplacementCharacter}, 1};
  return {std::string{text.substr(0, bytes)}, bytes};
}

// Some executors cut a message within a character, or write it unescaped, which must not lose other
// results. In texts, invalid characters become U+FFFD, raw or escaped, and control characters are
// escaped. A number beyond all ranges becomes a text.
std::string repaired(std::string_view body) {
  std::string fixed;
  fixed.reserve(body.size());
  bool is_text = false;
  for (std::size_t at = 0; at < body.size();) {
    const std::string_view left = body.substr(at);
    const char next = left.front();
    if (next == '"') is_text = !is_text;
    if (is_text && !is_plain(next)) {
      const auto [character, bytes] = repaired_character(left);
      fixed += character;
      at += bytes;
    } else if (const std::size_t bytes = is_text ? 0 : number_bytes(left); bytes > 0) {
      const std::string_view number = left.substr(0, bytes);
      const char* const quote = is_beyond_bounds(number) ? "\"" : "";
      fixed.append(quote).append(number).append(quote);
      at += bytes;
    } else {
      fixed += next;
      ++at;
    }
  }
  return fixed;
}

// Parses the body, after a repair if necessary.
Result<element> parse_repaired(Document& document, std::string_view body) {
  Result<element> parsed = Document::parse(document, body);
  return parsed.ok() ? parsed : Document::parse(document, repaired(body));
}

std::optional<std::string> text_in(const element& value) {
  switch (value.type()) {
    case element_type::STRING:
      return std::string{value.get_string().value_unsafe()};
    case element_type::INT64:
    case element_type::UINT64:
    case element_type::DOUBLE:
    case element_type::BOOL:
      return simdjson::minify(value);
    default:
      return std::nullopt;
  }
}

// The fields of one object. Keeps the first error.
class Fields {
 public:
  explicit Fields(const element& value) {
    if (value.get_object().get(object_) != simdjson::SUCCESS) {
      error_ = refused("the body is not a JSON object");
    }
  }

  // A field that exists and is not null.
  std::optional<element> find(std::string_view name) {
    element value;
    if (error_ || object_.at_key(name).get(value) != simdjson::SUCCESS || value.is_null()) {
      return std::nullopt;
    }
    return value;
  }

  std::optional<std::int64_t> number(std::string_view name) {
    const std::optional<element> value = find(name);
    if (!value) return std::nullopt;
    const std::optional<std::int64_t> number = number_in(*value);
    if (!number) error_ = refused(std::string{name} + " is not a whole number");
    return number;
  }
  std::int64_t number(std::string_view name, std::int64_t fallback) {
    return number(name).value_or(fallback);
  }
  std::int64_t needed_number(std::string_view name) {
    const std::optional<std::int64_t> found = number(name);
    if (!found && !error_) error_ = refused(std::string{name} + " is missing");
    return found.value_or(0);
  }

  std::optional<std::string> text(std::string_view name) {
    const std::optional<element> value = find(name);
    if (!value) return std::nullopt;
    std::optional<std::string> text = text_in(*value);
    if (!text) error_ = refused(std::string{name} + " is not a string");
    return text;
  }
  std::string text(std::string_view name, const char* fallback) {
    return text(name).value_or(fallback);
  }

  // Any value, as it was written.
  std::optional<std::string> any_text(std::string_view name) {
    const std::optional<element> value = find(name);
    if (!value) return std::nullopt;
    std::optional<std::string> text = text_in(*value);
    return text ? std::move(text) : simdjson::minify(*value);
  }

  // The time of a trigger, with either name.
  std::int64_t log_time() {
    const std::optional<std::int64_t> old_name = number("logDateTim");
    return old_name ? *old_name : number("logDateTime", 0);
  }

  template <class T>
  Result<T> end(T value) {
    if (error_) return *error_;
    return value;
  }

 private:
  simdjson::dom::object object_;
  std::optional<Error> error_;
};

BlockStrategy block_of(const std::string& word) {
  if (word == "DISCARD_LATER") return BlockStrategy::kDiscardLater;
  if (word == "COVER_EARLY") return BlockStrategy::kCoverEarly;
  return BlockStrategy::kSerial;
}

Result<RunResult> result_of(const element& value) {
  Fields fields(value);
  RunResult result{.log_id = fields.needed_number("logId")};
  const std::optional<std::int64_t> code = fields.number("handleCode");
  if (code) {
    result.code = *code;
    result.message = fields.any_text("handleMsg");
  } else if (const std::optional<element> nested = fields.find("executeResult")) {
    Fields inner(*nested);
    result.code = inner.needed_number("code");
    result.message = inner.any_text("msg");
    result = CARILLON_TRY(inner.end(std::move(result)));
  } else {
    (void)fields.needed_number("handleCode");  // Only for its error.
  }
  return fields.end(std::move(result));
}

}  // namespace

bool is_hessian(std::string_view body) {
  // The starts of calls, answers and envelopes of Hessian versions 1 and 2.
  constexpr std::array<std::string_view, 5> kBeginnings{"c\x01", "c\x02", "r\x01", "r\x02",
                                                        "H\x02"};
  const bool begins_so = std::any_of(kBeginnings.begin(), kBeginnings.end(),
                                     [&](std::string_view one) { return body.starts_with(one); });
  // An answer without an envelope: text never has this byte.
  const bool is_bare_answer = body.size() > 1 && body[0] == 'R' && (body[1] & 0xF8) == 0;
  return begins_so || is_bare_answer || body.find("com.xxl.rpc.") != std::string_view::npos;
}

Result<RunCall> read_run(std::string_view body) {
  Document document;
  Fields fields(CARILLON_TRY(Document::parse(document, body)));
  RunCall call;
  call.job_id = fields.needed_number("jobId");
  call.log_id = fields.needed_number("logId");
  call.handler = fields.text("executorHandler", "");
  call.param = fields.text("executorParams", "");
  call.block = block_of(fields.text("executorBlockStrategy", ""));
  call.timeout_s = fields.number("executorTimeout", 0);
  call.log_time_ms = fields.number("logDateTime", 0);
  call.glue_type = fields.text("glueType", "BEAN");
  call.glue_source = fields.text("glueSource", "");
  call.glue_updated_ms = fields.number("glueUpdatetime", 0);
  call.shard_index = fields.number("broadcastIndex", 0);
  call.shard_total = fields.number("broadcastTotal", 1);
  return fields.end(std::move(call));
}

Result<JobCall> read_job(std::string_view body) {
  Document document;
  Fields fields(CARILLON_TRY(Document::parse(document, body)));
  return fields.end(JobCall{.job_id = fields.needed_number("jobId")});
}

Result<LogCall> read_log(std::string_view body) {
  Document document;
  Fields fields(CARILLON_TRY(Document::parse(document, body)));
  LogCall call;
  call.log_id = fields.needed_number("logId");
  call.log_time_ms = fields.log_time();
  call.from_line = fields.number("fromLineNum", 1);
  return fields.end(call);
}

Result<Registration> read_registration(std::string_view body) {
  Document document;
  Fields fields(CARILLON_TRY(Document::parse(document, body)));
  Registration registration;
  registration.group = fields.text("registryGroup", "");
  registration.app_name = fields.text("registryKey", "");
  registration.address = fields.text("registryValue", "");
  return fields.end(std::move(registration));
}

Result<ManagedJob> read_managed_job(std::string_view body) {
  Document document;
  Fields fields(CARILLON_TRY(Document::parse(document, body)));
  ManagedJob job;
  job.id = fields.number("id", 0);
  job.name = fields.text("name", "");
  job.author = fields.text("author", "");
  job.alarm_email = fields.text("alarmEmail");
  job.schedule_type = fields.text("scheduleType", "");
  job.schedule_conf = fields.text("scheduleConf", "");
  job.misfire = fields.text("misfireStrategy", "");
  job.route = fields.text("executorRouteStrategy", "");
  job.handler = fields.text("executorHandler", "");
  job.param = fields.text("executorParam");
  job.block = fields.text("executorBlockStrategy", "");
  job.timeout_s = fields.number("executorTimeout", 0);
  job.retries = fields.number("executorFailRetryCount", 0);
  job.glue_type = fields.text("glueType", "");
  job.glue_source = fields.text("glueSource", "");
  job.glue_remark = fields.text("glueRemark", "");
  job.addresses = fields.text("addressList", "");
  return fields.end(std::move(job));
}

Result<ResultList> read_results(std::string_view body) {
  Document document;
  element root = CARILLON_TRY(parse_repaired(document, body));
  ResultList list;
  const auto take = [&list](const element& value) {
    Result<RunResult> result = result_of(value);
    if (result.ok()) {
      list.results.push_back(std::move(result).value());
    } else if (++list.refused == 1) {
      list.why = result.error().message;
    }
  };
  if (root.is_object()) {
    Fields fields(root);
    const std::optional<element> inner = fields.find("callbackList");
    if (!inner && fields.find("logId")) {
      take(root);
      return list;
    }
    if (!inner) return refused("callbackList is missing");
    root = *inner;
  }
  simdjson::dom::array array;
  if (root.get_array().get(array) != simdjson::SUCCESS) {
    return refused("the results are not a JSON array");
  }
  // Before they take several times the memory of their text.
  if (array.size() > kResultsMax)
    return refused("the request has more than " + std::to_string(kResultsMax) + " results");
  for (const element value : array) take(value);
  return list;
}

Result<Reply> read_reply(std::string_view body) {
  Document document;
  const Result<element> root = parse_repaired(document, body);
  if (!root.ok()) return refused("the answer is not JSON: '" + quoted(body) + "'");
  Fields fields(root.value());
  Reply reply{.code = fields.needed_number("code"),
              .message = fields.any_text("msg").value_or(std::string{})};
  Result<Reply> read = fields.end(std::move(reply));
  if (!read.ok()) return refused("the answer has no code: '" + quoted(body) + "'");
  return read;
}

std::string end_cut_text(std::string_view body) {
  std::string closing;  // of open elements, innermost last
  bool is_text = false;
  std::size_t line = 0;  // the end of the last line in the text; 0: none
  std::size_t letter = 0;
  for (std::size_t i = 0; i < body.size(); ++i) {
    const char c = body[i];
    if (c == '"') {
      is_text = !is_text;
      line = letter = 0;
    } else if (is_text && c == '\\') {
      if (++i < body.size() && body[i] == 'n') line = i + 1;
    } else if (is_text) {
      if (static_cast<unsigned char>(c) < 0x80) letter = i + 1;
    } else if (c == '{' || c == '[') {
      closing += c == '{' ? '}' : ']';
    } else if ((c == '}' || c == ']') && !closing.empty()) {
      closing.pop_back();
    }
  }
  const std::size_t end = line > 0 ? line : letter;
  if (end == 0) return std::string{body};
  return std::string{body.substr(0, end)} + '"' + std::string{closing.rbegin(), closing.rend()};
}

Result<LogPart> read_log_part(std::string_view body) {
  Document document;
  Fields fields(CARILLON_TRY(parse_repaired(document, body)));
  std::optional<element> payload = fields.find("content");
  if (!payload) payload = fields.find("data");
  if (!payload) return refused("the answer has neither content nor data");
  Fields inner(*payload);
  LogPart part;
  part.from_line = inner.number("fromLineNum", 1);
  part.to_line = inner.number("toLineNum", 0);
  part.text = inner.text("logContent", "");
  const std::optional<element> is_end = inner.find("isEnd");
  part.is_end = is_end && is_end->is_bool() && is_end->get_bool().value_unsafe();
  return inner.end(std::move(part));
}

}  // namespace carillon::wire::xxl
