#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "base/units.h"
#include "device/cuda_device.h"
#include "device/host_device.h"
#include "engine/blocks/training_device.h"
#include "engine/plan/warm_up.h"
#include "ops/allocator.h"

namespace plimsoll {

/// Tests that run blocks on a device run on the stand-in, and on a GPU if there is one.
enum class On { stand_in, cuda };

inline std::string name_of_on(const testing::TestParamInfo<On>& info) {
  return info.param == On::stand_in ? "stand_in" : "cuda";
}

class OnEachDevice : public testing::TestWithParam<On> {
 protected:
  static constexpr int kThreads = 3;
  static constexpr int64_t kRoomy = 64 * kMiB;  // Bytes in addition to the context.

  static void SetUpTestSuite() {
    install_ledger_allocator();
    if (find_cuda_devices().count > 0) cuda();
    warm_up_torch(2);
  }
  void SetUp() override {
    if (GetParam() == On::cuda && find_cuda_devices().count == 0)
      GTEST_SKIP() << find_cuda_devices().why_none;
  }

  // A device with `bytes` bytes for tensors, valid until the next call.
  TrainingDevice& device(int64_t bytes) {
    if (GetParam() == On::cuda) {
      cuda().resize(cuda().context() + bytes);
      return cuda();
    }
    stand_in_.reset();
    asked_ = worked_ = 0;
    stand_in_ =
        std::make_unique<TrainingDevice>(make_host_device({.bytes = bytes,
                                                           .host_computes = true,
                                                           .refuses = [this] { return ++asked_ == refused_; },
                                                           .fails = [this] { return ++worked_ == failed_; }}),
                                         bytes, kThreads);
    return *stand_in_;
  }

  std::atomic<int64_t> asked_ = 0;   // Number of requests to the stand-in for regions and pinned memory.
  int64_t refused_ = 0;              // Number of the request to refuse; 0: none.
  std::atomic<int64_t> worked_ = 0;  // Number of operations on the stand-in's streams.
  int64_t failed_ = 0;               // Number of the operation with which the device fails; 0: none.

 private:
  // One device per process: torch holds memory of it until the end.
  static TrainingDevice& cuda() {
    static TrainingDevice* const device = TrainingDevice::open_cuda(0, 2 * kGiB, kThreads).release();
    return *device;
  }

  std::unique_ptr<TrainingDevice> stand_in_;
};

}  // namespace plimsoll
