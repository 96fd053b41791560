#include "shared/wire/xxl/write.h"

#include "shared/base/utf8.h"

namespace carillon::wire::xxl {
namespace {

void append_escaped(std::string& out, char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      out += "\\u00";
      out += kHex[static_cast<unsigned char>(c) >> 4];
      out += kHex[static_cast<unsigned char>(c) & 0xF];
  }
}

void append_text(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const unsigned char first = static_cast<unsigned char>(text.front());
    if (first < 0x20 || first == '"' || first == '\\') {
      append_escaped(out, text.front());
      text.remove_prefix(1);
    } else if (first < 0x80) {
      out += text.front();
      text.remove_prefix(1);
    } else if (const std::size_t bytes = first_character(text).bytes; bytes > 0) {
      out += text.substr(0, bytes);
      text.remove_prefix(bytes);
    } else {
      out += kReplacementCharacter;
      text.remove_prefix(1);
    }
  }
  out += '"';
}

// Writes an object in the order of its fields.
class Object {
 public:
  Object& text(std::string_view name, std::string_view value) {
    begin(name);
    append_text(out_, value);
    return *this;
  }
  Object& number(std::string_view name, std::int64_t value) {
    return raw(name, std::to_string(value));
  }
  Object& raw(std::string_view name, std::string_view json) {
    begin(name);
    out_ += json;
    return *this;
  }
  std::string end() { return std::move(out_) + '}'; }

 private:
  void begin(std::string_view name) {
    if (out_.size() > 1) out_ += ',';
    append_text(out_, name);
    out_ += ':';
  }
  std::string out_ = "{";
};

std::string_view word_of(BlockStrategy block) {
  switch (block) {
    case BlockStrategy::kDiscardLater:
      return "DISCARD_LATER";
    case BlockStrategy::kCoverEarly:
      return "COVER_EARLY";
    case BlockStrategy::kSerial:
      break;
  }
  return "SERIAL_EXECUTION";
}

}  // namespace

// Only fields of all versions: some executors reject unknown ones.
std::string write_run(const RunCall& call) {
  return Object{}
      .number("jobId", call.job_id)
      .text("executorHandler", call.handler)
      .text("executorParams", call.param)
      .text("executorBlockStrategy", word_of(call.block))
      .number("executorTimeout", call.timeout_s)
      .number("logId", call.log_id)
      .number("logDateTime", call.log_time_ms)
      .text("glueType", call.glue_type)
      .text("glueSource", call.glue_source)
      .number("glueUpdatetime", call.glue_updated_ms)
      .number("broadcastIndex", call.shard_index)
      .number("broadcastTotal", call.shard_total)
      .end();
}

std::string write_job(const JobCall& call) { return Object{}.number("jobId", call.job_id).end(); }

std::string write_log(const LogCall& call) {
  return Object{}
      .number("logDateTim", call.log_time_ms)
      .number("logDateTime", call.log_time_ms)
      .number("logId", call.log_id)
      .number("fromLineNum", call.from_line)
      .end();
}

std::string write_registration(const Registration& registration) {
  return Object{}
      .text("registryGroup", registration.group)
      .text("registryKey", registration.app_name)
      .text("registryValue", registration.address)
      .end();
}

std::string write_result(const RunResult& result) {
  Object outcome;
  outcome.number("code", result.code);
  if (result.message) outcome.text("msg", *result.message);
  Object element;
  element.number("logId", result.log_id)
      .number("logDateTim", result.log_time_ms)
      .number("logDateTime", result.log_time_ms)
      .number("handleCode", result.code);
  if (result.message) element.text("handleMsg", *result.message);
  return element.raw("executeResult", outcome.end()).end();
}

std::string write_results(const std::vector<std::string_view>& elements, ResultForm form) {
  std::string list = "[";
  for (const std::string_view element : elements) {
    if (list.size() > 1) list += ',';
    list += element;
  }
  list += ']';
  return form == ResultForm::kArray ? list : Object{}.raw("callbackList", list).end();
}

std::string write_reply(const Reply& reply) {
  Object object;
  object.number("code", reply.code);
  if (reply.message.empty()) {
    object.raw("msg", "null").raw("content", "null").raw("data", "null");
  } else {
    object.text("msg", reply.message).raw("content", "null");
    // From 3.3 on the text of a success is in data. An error has no data: an admin reads it as the
    // requested object.
    reply.ok() ? object.text("data", reply.message) : object.raw("data", "null");
  }
  return object.end();
}

std::string write_admin_reply(const Reply& reply, const std::string& data) {
  Object object;
  object.number("code", reply.code);
  reply.message.empty() ? object.raw("msg", "null") : object.text("msg", reply.message);
  object.raw("content", "null");
  data.empty() ? object.raw("data", "null") : object.text("data", data);
  return object.raw("success", reply.ok() ? "true" : "false").end();
}

std::string write_log_reply(const LogPart& part) {
  const std::string payload = Object{}
                                  .number("fromLineNum", part.from_line)
                                  .number("toLineNum", part.to_line)
                                  .text("logContent", part.text)
                                  .raw("isEnd", part.is_end ? "true" : "false")
                                  .end();
  return Object{}
      .number("code", kSuccess)
      .raw("msg", "null")
      .raw("content", payload)
      .raw("data", payload)
      .end();
}

}  // namespace carillon::wire::xxl
