#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

// Metrics as values, and their text for Prometheus.
namespace carillon {

enum class MetricType : std::uint8_t { kCounter, kGauge, kHistogram };

// `counts` has one more entry than `bounds`: values above the last bound. Not cumulative.
struct HistogramValues {
  std::vector<double> bounds{};
  std::vector<std::int64_t> counts{};
  double sum = 0;
};

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

struct Sample {
  MetricLabels labels{};
  double value = 0;             // of a counter or gauge
  HistogramValues histogram{};  // of a histogram
};

// All samples of one metric.
struct Metric {
  std::string name{};  // "carillon_jobs_submitted_total"
  std::string help{};
  MetricType type = MetricType::kGauge;
  std::vector<Sample> samples{};
};

// In the Prometheus text format. Metrics without samples are left out.
std::string to_prometheus_text(const std::vector<Metric>& metrics);
inline constexpr const char* kPrometheusContentType = "text/plain; version=0.0.4; charset=utf-8";

// A metric with one sample without labels.
Metric one_number(std::string name, std::string help, MetricType type, double value);
// carillon_build_info
Metric build_info();

}  // namespace carillon
