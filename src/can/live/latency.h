#pragma once

#include <cstddef>
#include <cstdint>

#include "memory/vector.h"

namespace plimsoll {

/// A histogram of time spans whose buckets widen with the spans: it holds any number of spans in the same few
/// kilobytes and gives quantiles accurate to 1.6 % (the idea of HdrHistogram). Not thread-safe.
class Latency {
 public:
  /// Adds a time span. A negative one counts as 0.
  void add(int64_t ns);

  int64_t count() const { return count_; }
  int64_t max() const { return max_; }
  /// The quantile `q` in ns: the end of the first bucket up to which a share `q` of all spans has been
  /// counted, at most max(). It is 0 if there are no spans.
  int64_t quantile(double q) const;

 private:
  static constexpr int kBits = 6;  // There are 64 buckets for each doubling.
  static size_t bucket(int64_t ns);
  static int64_t end_of(size_t bucket);

  Vector<int64_t, Tag::output> counts_ = Vector<int64_t, Tag::output>((64 - kBits + 1) << kBits, 0);
  int64_t count_ = 0;
  int64_t max_ = 0;
};

}  // namespace plimsoll
