#pragma once

#include <algorithm>
#include <array>

namespace plimsoll {

/// Keeps the distances of a signal's last values from their predictions (Signal::surprise), and computes
/// means of them. Not thread-safe.
class RecentSurprises {
 public:
  static constexpr int kMax = 16;

  void add(double surprise) {
    last_ = (last_ + 1) % kMax;
    ring_[static_cast<size_t>(last_)] = static_cast<float>(surprise);
    count_ = std::min(count_ + 1, kMax);
  }
  /// Whether kMax surprises were added.
  bool is_full() const { return count_ == kMax; }
  /// Mean of the last `count` surprises, at most kMax, if is_full(). Adds them in order of time, so that the
  /// result does not depend on where the ring begins.
  double mean(int count) const {
    double sum = 0;
    for (int back = count - 1; back >= 0; --back)
      sum += static_cast<double>(ring_[static_cast<size_t>((last_ - back + kMax) % kMax)]);
    return sum / count;
  }

 private:
  std::array<float, kMax> ring_{};
  int last_ = kMax - 1;
  int count_ = 0;
};

}  // namespace plimsoll
