#include "can/live/latency.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace plimsoll {

size_t Latency::bucket(int64_t ns) {
  const auto value = static_cast<uint64_t>(ns);
  const int shift = std::max(0, static_cast<int>(std::bit_width(value)) - kBits - 1);
  return (static_cast<size_t>(shift) << kBits) + static_cast<size_t>(value >> shift);
}

// The greatest value in a bucket.
int64_t Latency::end_of(size_t bucket) {
  const size_t per = size_t{1} << kBits;
  const size_t shift = bucket < 2 * per ? 0 : (bucket >> kBits) - 1;
  const uint64_t value = bucket - (shift << kBits);
  return static_cast<int64_t>(((value + 1) << shift) - 1);
}

void Latency::add(int64_t ns) {
  ns = std::max<int64_t>(ns, 0);
  ++counts_[bucket(ns)];
  ++count_;
  max_ = std::max(max_, ns);
}

int64_t Latency::quantile(double q) const {
  const auto rank = static_cast<int64_t>(std::ceil(q * static_cast<double>(count_)));
  int64_t seen = 0;
  for (size_t b = 0; b < counts_.size(); ++b) {
    seen += counts_[b];
    if (seen >= rank && seen > 0) return std::min(end_of(b), max_);
  }
  return max_;
}

}  // namespace plimsoll
