#pragma once

// The warp of kernels/warp.h on the host: lanes and items take turns, in one order or the other.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>

#include "kernels/warp.h"

namespace plimsoll {

class HostWarp {
 public:
  template <typename V>
  class PerLane {
   public:
    explicit PerLane(V value = V()) { values_.fill(value); }
    V& operator[](int lane) { return values_.at(static_cast<size_t>(lane)); }

   private:
    std::array<V, kWarpLanes> values_;
  };

  explicit HostWarp(bool backwards) : backwards_(backwards) {}

  template <typename F>
  void each(F f) const {
    for (int n = 0; n < kWarpLanes; ++n) f(backwards_ ? kWarpLanes - 1 - n : n);
  }
  void sync() const {}
  template <typename V>
  void sum(PerLane<V>& v, int low, int high) const {
    butterfly(v, low, high, [](V a, V b) { return a + b; });
  }
  template <typename V>
  void highest(PerLane<V>& v, int low, int high) const {
    butterfly(v, low, high, [](V a, V b) { return b > a || b != b ? b : a; });
  }
  template <int kNumbers, typename T>
  Pack<T, kNumbers> load(const T* at) const {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(at) % sizeof(Pack<T, kNumbers>), 0U) << "not aligned";
    Pack<T, kNumbers> value;
    std::memcpy(value.at, at, sizeof(value));
    return value;
  }
  template <int kNumbers, typename T>
  void store(T* at, const Pack<T, kNumbers>& value) const {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(at) % sizeof(Pack<T, kNumbers>), 0U) << "not aligned";
    std::memcpy(at, value.at, sizeof(value));
  }

 private:
  template <typename V, typename Join>
  void butterfly(PerLane<V>& v, int low, int high, Join join) const {
    for (int bit = high / 2; bit >= low; bit /= 2) {
      PerLane<V> before = v;
      for (int lane = 0; lane < kWarpLanes; ++lane) v[lane] = join(before[lane], before[lane ^ bit]);
    }
  }

  bool backwards_;
};

/// Runs a step on the host.
struct HostLaunch {
  bool backwards = false;

  template <typename Step>
  void operator()(int64_t items, const Step& step) const {
    for (int64_t n = 0; n < items; ++n) step(HostWarp(backwards), backwards ? items - 1 - n : n);
  }
};

}  // namespace plimsoll
