#pragma once

#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace plimsoll {

/// Torch's CPU allocator for a test program. It counts the exact bytes that tensors request. It stays
/// installed.
class CountingAllocator final : public c10::Allocator {
 public:
  static CountingAllocator& install() {
    c10::SetCPUAllocator(&one(), /*priority=*/2);
    return one();
  }

  int64_t held() const { return held_; }
  /// Resets the maximum held and the largest piece allocated.
  void begin() { max_ = held_, largest_ = 0; }
  int64_t max() const { return max_; }
  int64_t largest() const { return largest_; }

  c10::DataPtr allocate(size_t bytes) override {
    const c10::Device cpu(c10::DeviceType::CPU);
    if (bytes == 0) return {nullptr, nullptr, &release, cpu};
    const size_t whole = (bytes + kFront + kFront - 1) / kFront * kFront;
    auto* const piece = static_cast<char*>(std::aligned_alloc(kFront, whole));
    std::memcpy(piece, &bytes, sizeof(bytes));
    one().count(static_cast<int64_t>(bytes));
    return {piece + kFront, piece + kFront, &release, cpu};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, size_t bytes) const override { std::memcpy(to, from, bytes); }

 private:
  static CountingAllocator& one() {
    static auto* const allocator = new CountingAllocator;
    return *allocator;
  }

  static constexpr size_t kFront = 64;

  static void release(void* data) {
    if (data == nullptr) return;
    char* const piece = static_cast<char*>(data) - kFront;
    size_t bytes = 0;
    std::memcpy(&bytes, piece, sizeof(bytes));
    one().count(-static_cast<int64_t>(bytes));
    std::free(piece);
  }
  void count(int64_t bytes) {
    const std::lock_guard lock(mutex_);
    held_ += bytes;
    max_ = std::max(max_, held_);
    largest_ = std::max(largest_, bytes);
  }

  std::mutex mutex_;
  int64_t held_ = 0, max_ = 0, largest_ = 0;
};

}  // namespace plimsoll
