#include "tests/bench/report.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "tests/bench/statistics.h"

namespace carillon::bench {
namespace {

std::vector<double> values_of(const Report& report, std::size_t figure) {
  std::vector<double> values;
  for (const Figures& round : report.rounds) values.push_back(round.at(figure).value);
  return values;
}

// Three digits that matter, and no more than people can read.
std::string number(double value) {
  std::array<char, 32> text{};
  const int digits = value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : 3;
  const int length = std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return {text.data(), static_cast<std::size_t>(length)};
}

std::string padded(std::string text, std::size_t width, bool right) {
  if (text.size() >= width) return text;
  return right ? std::string(width - text.size(), ' ') + text
               : text + std::string(width - text.size(), ' ');
}

}  // namespace

std::vector<std::string> settings_of(const Verb& workload, const Configuration& flags) {
  std::vector<std::string> settings;
  for (const EffectiveOption& option : flags.effective()) {
    if (option.name == kTrackerFlag) settings.push_back(option.name + "=" + option.value);
    for (const Option& declared : workload.options) {
      const bool is_used = declared.fallback != "0" || option.value != "0";
      if (declared.name == option.name && is_used)
        settings.push_back(option.name + "=" + option.value);
    }
  }
  return settings;
}

std::string to_text(const Report& report) {
  std::string text = report.workload;
  if (!report.store.empty()) text += " on " + report.store;
  for (const std::string& setting : report.settings) text += "  " + setting;
  text += "\n" + report.machine + "\n" + report.date + "  version " + report.version + "  rounds " +
          std::to_string(report.rounds.size()) + "\n";
  if (report.rounds.empty()) return text;
  std::size_t widest = 0;
  for (const Figure& figure : report.rounds.front()) widest = std::max(widest, figure.name.size());
  for (std::size_t i = 0; i < report.rounds.front().size(); ++i) {
    const Figure& figure = report.rounds.front()[i];
    const Spread spread = spread_of(values_of(report, i));
    text += "  " + padded(figure.name, widest, false) + padded(number(spread.median), 9, true) +
            " " + padded(figure.unit, 8, false);
    if (report.rounds.size() > 1) {
      text += padded("(" + number(spread.min) + " .. " + number(spread.max) + ")", 22, false);
    }
    if (!report.durability.empty()) text += "  [" + report.durability + "]";
    text += "\n";
  }
  return text;
}

std::string to_json(const Report& report) {
  nlohmann::ordered_json json{
      {"workload", report.workload},   {"store", report.store}, {"durability", report.durability},
      {"machine", report.machine},     {"date", report.date},   {"version", report.version},
      {"rounds", report.rounds.size()}};
  for (const std::string& setting : report.settings) {
    const std::size_t equals = setting.find('=');
    json["settings"][setting.substr(0, equals)] = setting.substr(equals + 1);
  }
  json["figures"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; !report.rounds.empty() && i < report.rounds.front().size(); ++i) {
    const Figure& figure = report.rounds.front()[i];
    const auto values = values_of(report, i);
    const Spread spread = spread_of(values);
    json["figures"].push_back({{"name", figure.name},
                               {"unit", figure.unit},
                               {"median", spread.median},
                               {"min", spread.min},
                               {"max", spread.max},
                               {"values", values},
                               {"durability", report.durability}});
  }
  return json.dump(2) + "\n";
}

}  // namespace carillon::bench
