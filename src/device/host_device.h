#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "device/access_check.h"
#include "device/device.h"

namespace plimsoll {

/// A stand-in for a device: its streams are threads, and its memory is separate host memory. It is for tests,
/// and finds errors that would give wrong results on a GPU:
///
/// - An access that is not ordered with another one throws DeviceFault out of the call that adds the work,
/// whatever
///   the timing (access_check.h). Work that touches more than it declares is left to the thread sanitizer,
///   because streams wait only for what they are told to wait for.
/// - Memory that was given back, never taken or never written, or of the wrong side, throws DeviceFault as
/// well.
///   Undeclared reads of work see 0xFF there, which is NaN in every width.
/// - A host that reads or writes the device's memory gets SIGSEGV, as long as no stream works.
///
/// A DeviceFault in giving memory back, which destructors do, is thrown by the next call that can throw it.
struct HostDeviceOptions {
  int64_t bytes = 0;          ///< Bytes of its memory.
  int64_t context_bytes = 0;  ///< Bytes of these that are held from the start.
  /// The host computes with the device's memory in place of kernels, as torch does on the CPU. It may read
  /// and write there, and memory that it takes of a range is ordered with its own work. So all copies of
  /// streams must have been waited for.
  bool host_computes = false;
  /// Called before a piece, a region or pinned memory is taken. If it returns true, the memory is refused as
  /// if there were no space. Several threads may call it at once. Empty: never refuse.
  std::function<bool()> refuses = {};
  /// Called before streams run a piece of work. If it returns true, the device fails, then and ever after, as
  /// a GPU does after a fault of a kernel. Several threads may call it at once. Empty: never fail.
  std::function<bool()> fails = {};
};
std::unique_ptr<Device> make_host_device(HostDeviceOptions options);
inline std::unique_ptr<Device> make_host_device(int64_t bytes, int64_t context_bytes = 0) {
  return make_host_device({.bytes = bytes, .context_bytes = context_bytes});
}

}  // namespace plimsoll
