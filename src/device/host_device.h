#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "device/access_check.h"
#include "device/device.h"

namespace plimsoll {

/// A device that is none: its streams are threads, its memory lies apart. For tests, which find on it what a
/// GPU would compute with:
///
/// - an access in no order with another one: DeviceFault out of the call that adds the work, whatever the
///   timing (access_check.h). Work that touches more than it declares is left to the thread sanitizer:
///   streams wait for nothing but what they are told to;
/// - memory that was given back, never taken or never written, or of the wrong side: DeviceFault likewise;
///   what work reads there without declaring it is 0xFF, which is NaN in every width;
/// - the host reads or writes the device's memory: SIGSEGV, as long as no stream works.
///
/// A DeviceFault in giving memory back, which destructors do, comes out of the next call that can throw it.
struct HostDeviceOptions {
  int64_t bytes = 0;          ///< of its memory
  int64_t context_bytes = 0;  ///< of them, held from the start
  /// The host computes with the device's memory in the place of kernels, as torch does on the CPU: it may
  /// read and write there, and what it takes of a range is ordered with what it does itself. So whatever
  /// streams copy must have been waited for.
  bool host_computes = false;
  /// Asked before a piece, a region or pinned memory is taken; true refuses it as if there were no room. May
  /// be called by several threads at once. Empty: never.
  std::function<bool()> refuses = {};
  /// Asked before streams do a piece of work; true: the device fails, then and ever after, as a GPU does
  /// after a fault of a kernel. May be called by several threads at once. Empty: never.
  std::function<bool()> fails = {};
};
std::unique_ptr<Device> make_host_device(HostDeviceOptions options);
inline std::unique_ptr<Device> make_host_device(int64_t bytes, int64_t context_bytes = 0) {
  return make_host_device({.bytes = bytes, .context_bytes = context_bytes});
}

}  // namespace plimsoll
