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

/// What runs blocks on a device is tested on the stand-in, and on a GPU where there is one.
enum class On { stand_in, cuda };

inline std::string name_of_on(const testing::TestParamInfo<On>& of) {
  return of.param == On::stand_in ? "stand_in" : "cuda";
}

class OnEachDevice : public testing::TestWithParam<On> {
 protected:
  static constexpr int kThreads = 3;
  static constexpr int64_t kRoomy = 64 * kMiB;  // beside the context

  static void SetUpTestSuite() {
    install_ledger_allocator();
    if (find_cuda_devices().count > 0) cuda();
    warm_up_torch(2);
  }
  void SetUp() override {
    if (GetParam() == On::cuda && find_cuda_devices().count == 0)
      GTEST_SKIP() << find_cuda_devices().why_none;
  }

  // One with so much for tensors, until the next call.
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

  std::atomic<int64_t> asked_ = 0;   // pieces of the stand-in, regions and pinned memory
  int64_t refused_ = 0;              // the one that is; 0: none
  std::atomic<int64_t> worked_ = 0;  // pieces of work of the stand-in's streams
  int64_t failed_ = 0;               // the one with which the device fails; 0: none

 private:
  // One for the process: torch takes memory of it until the end.
  static TrainingDevice& cuda() {
    static TrainingDevice* const device = TrainingDevice::open_cuda(0, 2 * kGiB, kThreads).release();
    return *device;
  }

  std::unique_ptr<TrainingDevice> stand_in_;
};

}  // namespace plimsoll
