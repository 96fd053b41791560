#include "tasktracker/builtin_handlers.h"

#include <charconv>

#include "shared/base/time_text.h"

namespace carillon::tasktracker {
namespace {

RunReport noop(JobContext&) { return RunReport::succeeded(); }

RunReport echo(JobContext& context) {
  std::string text;
  for (const auto& [name, value] : context.job().params) text += name + '=' + value + '\n';
  const std::string& payload = context.job().payload;
  text += payload;
  if (!payload.empty() && payload.back() != '\n') text += '\n';
  context.write(text);
  return RunReport::succeeded(payload);
}

RunReport sleep(JobContext& context) {
  const std::string& payload = context.job().payload;
  const std::string text = context.param("duration").value_or(payload.empty() ? "1s" : payload);
  if (text == "0" || text == "0s") return RunReport::succeeded();
  const Result<Duration> duration = parse_duration(text);
  if (!duration.ok()) return RunReport::failed("param duration: " + duration.error().message);
  if (!context.wait(duration.value())) return RunReport::exception("stopped while sleeping");
  return RunReport::succeeded("slept " + format_duration(duration.value()));
}

RunReport fail(JobContext& context) {
  const std::string& payload = context.job().payload;
  const std::string message =
      context.param("message").value_or(payload.empty() ? "failed, as requested" : payload);
  if (const std::optional<std::string> text = context.param("times")) {
    int times = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), times);
    if (error != std::errc{} || end != text->data() + text->size() || times < 0) {
      return RunReport::failed("param times is '" + *text + "', must be a number from 0 up");
    }
    if (context.job().attempt > times) return RunReport::succeeded();
  }
  return RunReport::exception(message);
}

}  // namespace

std::map<std::string, JobRunner> builtin_handlers() {
  return {{"noop", noop}, {"echo", echo}, {"sleep", sleep}, {"fail", fail}};
}

}  // namespace carillon::tasktracker
