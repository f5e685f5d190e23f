#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "device/access_check.h"
#include "device/device.h"

namespace plimsoll {

/// Options of make_host_device().
struct HostDeviceOptions {
  int64_t bytes = 0;          ///< Bytes of its memory.
  int64_t context_bytes = 0;  ///< Bytes of its memory that are held from the start.
  /// Whether the host computes in the device's memory instead of kernels, as torch does on the CPU. The host
  /// may then read and write this memory, and memory that it allocates from a range is ordered with the
  /// host's work, so it must have waited for all copies on streams.
  bool host_computes = false;
  /// Called before a piece, a region or pinned memory is allocated. If it returns true, the allocation fails
  /// as if there were no space. Several threads may call it at once. Empty: never refuse.
  std::function<bool()> refuses = {};
  /// Called before a stream runs some work. If it returns true, the device fails from then on, as a GPU does
  /// after a kernel has faulted. Several threads may call it at once. Empty: never fail.
  std::function<bool()> fails = {};
};

/// Makes a stand-in for a device, for tests. Its streams are threads, and its memory is separate host memory.
/// It finds errors that would give wrong results on a GPU:
///
/// - If an access is not ordered with another one, the call that adds the work throws DeviceFault, whatever
/// the timing (access_check.h). Work that touches more memory than it declares is found by the thread
/// sanitizer, because streams wait only for the events passed to wait_for().
/// - An access to memory that was freed, never allocated or never written, or that is on the wrong side, also
/// throws DeviceFault. Undeclared reads of such memory see bytes of 0xFF, which are NaN in every width.
/// - A host that reads or writes the device's memory gets SIGSEGV while no stream works.
///
/// Memory is freed in destructors. A DeviceFault found there is thrown by the next call that may throw. If
/// the device is destroyed before such a call, the fault is printed to stderr and the process aborts.
std::unique_ptr<Device> make_host_device(HostDeviceOptions options);
inline std::unique_ptr<Device> make_host_device(int64_t bytes, int64_t context_bytes = 0) {
  return make_host_device({.bytes = bytes, .context_bytes = context_bytes});
}

}  // namespace plimsoll
