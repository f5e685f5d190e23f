#pragma once

// The warp of kernels/warp.h with one thread for each lane. Only sync() orders memory between lanes and sums
// do not, so the thread sanitizer finds steps that lack a sync().

#include <array>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "kernels/host_warp.h"

namespace plimsoll {

class ThreadWarp {
 public:
  template <typename V>
  class PerLane {
   public:
    explicit PerLane(V value = V()) : value_(value) {}
    V& operator[](int) { return value_; }

   private:
    V value_;
  };

  /// The numbers that lanes show each other, of this round or the next. A lane that is a round ahead has seen
  /// that all lanes have read the round before.
  struct Board {
    std::array<std::array<std::atomic<uint64_t>, kWarpLanes>, 2> shown{};
    std::array<std::atomic<int64_t>, kWarpLanes> round{};
    std::barrier<> barrier{kWarpLanes};
  };

  ThreadWarp(Board& board, int lane) : board_(board), lane_(lane) {}

  template <typename F>
  void each(F f) const {
    f(lane_);
  }
  void sync() const { board_.barrier.arrive_and_wait(); }
  template <typename V>
  void sum(PerLane<V>& v, int low, int high) const {
    for (int bit = high / 2; bit >= low; bit /= 2) v[0] += of_lane(lane_ ^ bit, v[0]);
  }
  template <typename V>
  void highest(PerLane<V>& v, int low, int high) const {
    for (int bit = high / 2; bit >= low; bit /= 2) {
      const V other = of_lane(lane_ ^ bit, v[0]);
      v[0] = other > v[0] || other != other ? other : v[0];
    }
  }
  template <int kNumbers, typename T>
  Pack<T, kNumbers> load(const T* at) const {
    return HostWarp(false).load<kNumbers>(at);
  }
  template <int kNumbers, typename T>
  void store(T* at, const Pack<T, kNumbers>& value) const {
    HostWarp(false).store(at, value);
  }

 private:
  // The order is relaxed on purpose: an acquire here would also order all other memory.
  template <typename V>
  V of_lane(int other, V mine) const {
    std::atomic<int64_t>& round = board_.round[static_cast<size_t>(lane_)];
    const int64_t now = round.load(std::memory_order_relaxed) + 1;
    auto& shown = board_.shown[static_cast<size_t>(now % 2)];
    uint64_t bits = 0;
    std::memcpy(&bits, &mine, sizeof(mine));
    shown[static_cast<size_t>(lane_)].store(bits, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // x86 does not reorder stores.
    round.store(now, std::memory_order_relaxed);
    for (const auto& each : board_.round)
      while (each.load(std::memory_order_relaxed) < now) std::this_thread::yield();
    std::atomic_signal_fence(std::memory_order_seq_cst);
    bits = shown[static_cast<size_t>(other)].load(std::memory_order_relaxed);
    std::memcpy(&mine, &bits, sizeof(mine));
    return mine;
  }

  Board& board_;
  int lane_;
};

/// Runs a step with one warp of threads.
template <typename Step>
void launch_on_threads(int64_t items, const Step& step) {
  const auto board = std::make_unique<ThreadWarp::Board>();
  std::vector<std::thread> lanes;
  for (int lane = 0; lane < kWarpLanes; ++lane)
    lanes.emplace_back([&, lane] {
      for (int64_t item = 0; item < items; ++item) step(ThreadWarp(*board, lane), item);
    });
  for (std::thread& each : lanes) each.join();
}

}  // namespace plimsoll
