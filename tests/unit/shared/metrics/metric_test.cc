#include "shared/metrics/metric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/metrics/histogram.h"

namespace carillon {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Metric, CounterHasHelpTypeAndLabels) {
  const Metric metric{
      .name = "carillon_group_attempts_ended_total",
      .help = "Attempts that ended",
      .type = MetricType::kCounter,
      .samples = {Sample{.labels = {{"group", "a\"b"}, {"outcome", "failed"}}, .value = 12}}};
  EXPECT_EQ(to_prometheus_text({metric}),
            "# HELP carillon_group_attempts_ended_total Attempts that ended\n"
            "# TYPE carillon_group_attempts_ended_total counter\n"
            "carillon_group_attempts_ended_total{group=\"a\\\"b\",outcome=\"failed\"} 12\n");
}

TEST(Metric, HistogramIsCumulative) {
  Histogram<kSizeBounds> sizes;
  for (const std::int64_t size : {1, 3, 9999}) sizes.record(size);
  const std::string text =
      to_prometheus_text({{.name = "carillon_claim_batch_jobs",
                           .help = "Jobs",
                           .type = MetricType::kHistogram,
                           .samples = {Sample{.histogram = sizes.values(kPieces)}}}});
  EXPECT_THAT(text, HasSubstr("# TYPE carillon_claim_batch_jobs histogram\n"));
  EXPECT_THAT(text, HasSubstr("carillon_claim_batch_jobs_bucket{le=\"1\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("carillon_claim_batch_jobs_bucket{le=\"8192\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("carillon_claim_batch_jobs_bucket{le=\"+Inf\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("carillon_claim_batch_jobs_count 3\n"));
  EXPECT_THAT(text, HasSubstr("carillon_claim_batch_jobs_sum 10003\n"));
}

TEST(Metric, WithoutSamplesIsLeftOut) {
  EXPECT_EQ(to_prometheus_text({{.name = "carillon_none", .help = "None"}}), "");
}

TEST(Metric, BuildInfoHasTheVersion) {
  EXPECT_THAT(to_prometheus_text({build_info()}), HasSubstr("carillon_build_info{version=\""));
  EXPECT_THAT(to_prometheus_text({build_info()}), Not(HasSubstr("version=\"\"")));
}

}  // namespace
}  // namespace carillon
