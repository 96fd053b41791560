#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "carillon/time.h"
#include "shared/metrics/metric.h"

// Numbers counted in buckets. Counting takes a few nanoseconds and no memory.
namespace carillon {

// Upper limits of buckets, inclusive, in microseconds: 1 ms to an hour.
inline constexpr std::array<std::int64_t, 16> kTimeBounds = {
    1'000,      2'500,       5'000,       10'000,       25'000,     50'000,
    100'000,    250'000,     1'000'000,   2'500'000,    10'000'000, 30'000'000,
    60'000'000, 300'000'000, 900'000'000, 3'600'000'000};
// For times that are mostly below a second: 100 us to 10 s.
inline constexpr std::array<std::int64_t, 14> kShortTimeBounds = {
    100,    250,    500,     1'000,   2'500,     5'000,     10'000,
    25'000, 50'000, 100'000, 250'000, 1'000'000, 2'500'000, 10'000'000};
// For numbers of rows.
inline constexpr std::array<std::int64_t, 9> kSizeBounds = {1,   4,    16,   64,  256,
                                                            512, 1024, 4096, 8192};

// Number of these units in one unit of a metric.
inline constexpr double kMicroseconds = 1e6;
inline constexpr double kPieces = 1;

// A histogram with the buckets of `kBounds`, and one for larger values. Count: std::int64_t, or
// std::atomic<std::int64_t> if several threads record or read.
template <const auto& kBounds, class Count = std::int64_t>
class Histogram {
 public:
  void record(std::int64_t value) {
    const auto bucket = std::lower_bound(kBounds.begin(), kBounds.end(), value) - kBounds.begin();
    ++counts_[static_cast<std::size_t>(bucket)];
    sum_ += value;
  }
  void record(Duration time) { record(time.count()); }
  void add(const Histogram& other) {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    sum_ += other.sum_;
  }
  // `units`: see above.
  HistogramValues values(double units) const {
    HistogramValues all;
    for (const std::int64_t bound : kBounds)
      all.bounds.push_back(static_cast<double>(bound) / units);
    for (const Count& count : counts_) all.counts.push_back(std::int64_t{count});
    all.sum = static_cast<double>(std::int64_t{sum_}) / units;
    return all;
  }

 private:
  std::array<Count, kBounds.size() + 1> counts_{};
  Count sum_{};
};

template <const auto& kBounds>
using SharedHistogram = Histogram<kBounds, std::atomic<std::int64_t>>;

using TimeHistogram = Histogram<kTimeBounds>;
using ShortTimeHistogram = Histogram<kShortTimeBounds>;

// Times in buckets that are fine enough for quantiles: each is at most a quarter of its lower limit
// wide. Times below 128 us share one bucket, and so do times above about an hour.
class QuantileTimes {
 public:
  void record(Duration time) {
    ++counts_[bucket_of(time.count())];
    ++total_;
  }
  void add(const QuantileTimes& other) {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    total_ += other.total_;
  }
  std::int64_t total() const { return total_; }
  // The upper limit of the bucket with this share of all times; 0 without any.
  Duration quantile(double share) const {
    const double wanted = share * static_cast<double>(total_);
    std::int64_t seen = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      seen += counts_[i];
      if (counts_[i] > 0 && static_cast<double>(seen) >= wanted) return Duration{limit_of(i)};
    }
    return {};
  }

 private:
  static constexpr int kFirstBits = 7;  // 128 us
  static constexpr int kLastBits = 32;
  static constexpr std::size_t kParts = 4;  // buckets between two powers of two
  static constexpr std::size_t kBuckets = (kLastBits - kFirstBits) * kParts + 1;

  static std::size_t bucket_of(std::int64_t microseconds) {
    if (microseconds < (std::int64_t{1} << kFirstBits)) return 0;
    const auto value = static_cast<std::uint64_t>(microseconds);
    const int bits = static_cast<int>(std::bit_width(value)) - 1;
    if (bits >= kLastBits) return kBuckets - 1;
    const auto part = static_cast<std::size_t>(value >> (bits - 2)) & (kParts - 1);
    return 1 + static_cast<std::size_t>(bits - kFirstBits) * kParts + part;
  }
  static std::int64_t limit_of(std::size_t bucket) {
    if (bucket == 0) return std::int64_t{1} << kFirstBits;
    const std::size_t at = bucket - 1;
    const int bits = kFirstBits + static_cast<int>(at / kParts);
    const auto part = static_cast<std::int64_t>(at % kParts);
    return (std::int64_t{1} << bits) + ((part + 1) << (bits - 2));
  }

  std::array<std::uint32_t, kBuckets> counts_{};
  std::int64_t total_ = 0;
};

}  // namespace carillon
