#pragma once

#include "base/shared_library.h"

namespace plimsoll {

/// The library that tests/device/fake_nvml.cc makes, in place of NVML. There is one per process.
struct FakeNvml {
  static constexpr const char* kLibrary = PLIMSOLL_FAKE_NVML;
  static constexpr const char* kBus = "00000000:01:00.0";

  /// Sets everything that it reports from now on. It reports no processes.
  static void set(unsigned long long used, unsigned int percent, bool fails = false) {
    library().function<void (*)(bool, unsigned long long, unsigned int)>("fake_nvml_set")(fails, used,
                                                                                          percent);
  }
  static void add_process(unsigned int number, unsigned long long bytes) {
    library().function<void (*)(unsigned int, unsigned long long)>("fake_nvml_add")(number, bytes);
  }

 private:
  static SharedLibrary library() { return {kLibrary, "build the target fake_nvml"}; }
};

}  // namespace plimsoll
