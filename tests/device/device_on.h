#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "device/cuda_device.h"
#include "device/device.h"
#include "device/host_device.h"

namespace plimsoll {

/// Where device tests run: on the stand-in, and on a GPU if there is one.
enum class DeviceKind { host, cuda };

inline std::string name_of_device(const testing::TestParamInfo<DeviceKind>& kind) {
  return kind.param == DeviceKind::host ? "host" : "cuda";
}

class EachDevice : public testing::TestWithParam<DeviceKind> {
 protected:
  void SetUp() override {
    if (GetParam() == DeviceKind::host) {
      device = make_host_device(64 * kMiB, 1 * kMiB);
    } else if (const CudaDevices found = find_cuda_devices(); found.count > 0) {
      const auto monitor = monitor_cuda_device(0);
      device = open_cuda_device(0, DeviceLedger::kUnlimited, monitor.get());
    } else {
      GTEST_SKIP() << found.why_none;
    }
  }
  std::unique_ptr<Device> device;
};

template <typename T>
void put(PinnedBuffer& buffer, const std::vector<T>& numbers) {
  std::memcpy(buffer.write().data(), numbers.data(), numbers.size() * sizeof(T));
}
template <typename T>
std::vector<T> numbers_of(PinnedBuffer& buffer) {
  std::vector<T> numbers(static_cast<size_t>(buffer.bytes()) / sizeof(T));
  std::memcpy(numbers.data(), buffer.read().data(), numbers.size() * sizeof(T));
  return numbers;
}

}  // namespace plimsoll
