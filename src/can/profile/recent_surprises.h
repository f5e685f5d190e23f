#pragma once

#include <algorithm>
#include <array>

namespace plimsoll {

/// How far the last values of a signal were from their predictions (Signal::surprise), for means over them.
class RecentSurprises {
 public:
  static constexpr int kMax = 16;

  void add(double surprise) {
    last_ = (last_ + 1) % kMax;
    ring_[static_cast<size_t>(last_)] = static_cast<float>(surprise);
    count_ = std::min(count_ + 1, kMax);
  }
  bool is_full() const { return count_ == kMax; }
  /// Of the last `count`, at most kMax, once it is full; in the order of time, so that the sum is the same
  /// wherever the ring begins.
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
