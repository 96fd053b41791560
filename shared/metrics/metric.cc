#include "shared/metrics/metric.h"

#include <limits>
#include <utility>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

namespace carillon {
namespace {

prometheus::MetricType type_of(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return prometheus::MetricType::Counter;
    case MetricType::kGauge:
      return prometheus::MetricType::Gauge;
    case MetricType::kHistogram:
      break;
  }
  return prometheus::MetricType::Histogram;
}

prometheus::ClientMetric::Histogram histogram_of(const HistogramValues& values) {
  prometheus::ClientMetric::Histogram histogram;
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < values.counts.size(); ++i) {
    count += static_cast<std::uint64_t>(values.counts[i]);
    const bool is_last = i >= values.bounds.size();
    histogram.bucket.push_back(
        {.cumulative_count = count,
         .upper_bound = is_last ? std::numeric_limits<double>::infinity() : values.bounds[i]});
  }
  histogram.sample_count = count;
  histogram.sample_sum = values.sum;
  return histogram;
}

prometheus::ClientMetric client_metric(const Metric& metric, const Sample& sample) {
  prometheus::ClientMetric one;
  for (const auto& [name, value] : sample.labels)
    one.label.push_back({.name = name, .value = value});
  switch (metric.type) {
    case MetricType::kCounter:
      one.counter.value = sample.value;
      break;
    case MetricType::kGauge:
      one.gauge.value = sample.value;
      break;
    case MetricType::kHistogram:
      one.histogram = histogram_of(sample.histogram);
      break;
  }
  return one;
}

}  // namespace

std::string to_prometheus_text(const std::vector<Metric>& metrics) {
  std::vector<prometheus::MetricFamily> families;
  families.reserve(metrics.size());
  for (const Metric& metric : metrics) {
    if (metric.samples.empty()) continue;
    prometheus::MetricFamily family;
    family.name = metric.name;
    family.help = metric.help;
    family.type = type_of(metric.type);
    family.metric.reserve(metric.samples.size());
    for (const Sample& sample : metric.samples)
      family.metric.push_back(client_metric(metric, sample));
    families.push_back(std::move(family));
  }
  return prometheus::TextSerializer().Serialize(families);
}

Metric one_number(std::string name, std::string help, MetricType type, double value) {
  return {.name = std::move(name),
          .help = std::move(help),
          .type = type,
          .samples = {Sample{.value = value}}};
}

Metric build_info() {
  return {.name = "carillon_build_info",
          .help = "Version of the program; always 1",
          .type = MetricType::kGauge,
          .samples = {Sample{.labels = {{"version", CARILLON_VERSION}}, .value = 1}}};
}

}  // namespace carillon
