#pragma once

// The places where tests of CUDA kernels run them: on the host, with lanes and items in either order or with
// one thread per lane, or on a GPU.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda.h"
#include "kernels/host_warp.h"
#include "kernels/thread_warp.h"

namespace plimsoll {

enum class Where { host, host_backwards, threads, cuda };

/// Runs steps on the host, at the place that a test asks for.
struct TestLaunch {
  Where where;

  template <typename Step>
  void operator()(int64_t items, const Step& step) const {
    if (where == Where::threads)
      launch_on_threads(items, step);
    else
      HostLaunch{.backwards = where == Where::host_backwards}(items, step);
  }
};

inline std::string name_of_place(const testing::TestParamInfo<Where>& place) {
  switch (place.param) {
    case Where::host:
      return "host";
    case Where::host_backwards:
      return "host_backwards";
    default:
      return "cuda";
  }
}

/// A suite for every place. It is skipped if the place does not exist.
class OnDevice : public testing::TestWithParam<Where> {
 protected:
  void SetUp() override {
    if (GetParam() == Where::cuda && cuda_devices() == 0)
      GTEST_SKIP() << "no CUDA device, or a build without CUDA";
  }
};

/// Arrays in the memory of a place. They are aligned for loads of 16 bytes, or one number off. Memory after
/// an array must not change.
class TestDevice {
 public:
  TestDevice(Where where, bool aligned) : where_(where), aligned_(aligned) {}
  TestDevice(const TestDevice&) = delete;
  TestDevice& operator=(const TestDevice&) = delete;
  ~TestDevice() {
    for (const Array& array : arrays_) {
      const std::vector<std::byte> after = bytes_at(array.end, kGuard);
      EXPECT_EQ(after, std::vector<std::byte>(kGuard, kMark)) << "written after an array";
      if (where_ == Where::cuda) cuda_free(array.memory);
    }
  }

  Where where() const { return where_; }
  bool on_host() const { return where_ != Where::cuda; }
  TestLaunch launch() const { return {where_}; }

  /// Copies numbers to the device; null if there are none.
  template <typename T>
  T* upload(const std::vector<T>& numbers) {
    if (numbers.empty()) return nullptr;
    const size_t shift = aligned_ ? 0 : sizeof(T);
    const size_t size = numbers.size() * sizeof(T);
    std::vector<std::byte> bytes(kAlignment + shift + size + kGuard, kMark);
    std::memcpy(bytes.data() + kAlignment + shift, numbers.data(), size);
    const size_t whole = bytes.size();
    std::byte* memory = nullptr;
    if (on_host()) {
      host_.push_back(std::make_unique<std::byte[]>(whole + kAlignment));
      memory = host_.back().get();
      memory += (kAlignment - reinterpret_cast<uintptr_t>(memory) % kAlignment) % kAlignment;
    } else {
      memory = static_cast<std::byte*>(cuda_allocate(static_cast<int64_t>(whole)));
    }
    copy(memory, bytes.data(), whole);
    std::byte* const first = memory + kAlignment + shift;
    arrays_.push_back({memory, first + size});
    return reinterpret_cast<T*>(first);
  }
  /// Copies numbers of float64 to the device as T.
  template <typename T>
  T* upload_as(const std::vector<double>& numbers) {
    return upload(std::vector<T>(numbers.begin(), numbers.end()));
  }
  template <typename T>
  T* filled(int64_t count, T value) {
    return upload(std::vector<T>(static_cast<size_t>(count), value));
  }
  template <typename T>
  std::vector<double> download(const T* from, int64_t count) const {
    std::vector<T> numbers(static_cast<size_t>(count));
    if (count > 0) copy(numbers.data(), from, numbers.size() * sizeof(T));
    return {numbers.begin(), numbers.end()};
  }

 private:
  static constexpr size_t kAlignment = 64;
  static constexpr size_t kGuard = 64;
  static constexpr std::byte kMark{0xA5};

  struct Array {
    std::byte* memory;
    std::byte* end;
  };

  void copy(void* to, const void* from, size_t size) const {
    if (on_host())
      std::memcpy(to, from, size);
    else
      cuda_copy(to, from, static_cast<int64_t>(size));
  }
  std::vector<std::byte> bytes_at(const std::byte* from, size_t size) const {
    std::vector<std::byte> bytes(size);
    copy(bytes.data(), from, size);
    return bytes;
  }

  Where where_;
  bool aligned_;
  std::vector<std::unique_ptr<std::byte[]>> host_;
  std::vector<Array> arrays_;
};

}  // namespace plimsoll
