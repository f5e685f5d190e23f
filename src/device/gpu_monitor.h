#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/shared_library.h"

namespace plimsoll {

/// Reads memory and load of a GPU from NVML, the monitoring library of NVIDIA's driver. NVML needs no context
/// on the GPU. It is loaded at run time, never linked. Thread-safe.
class GpuMonitor {
 public:
  /// Opens the monitor of the GPU at a PCI bus address, in CUDA's notation; null if NVML is not available or
  /// does not know the GPU. Call it before this process has a context on the GPU, so that its memory can be
  /// distinguished from that of other processes.
  static std::unique_ptr<GpuMonitor> open(const std::string& bus,
                                          const std::string& library = "libnvidia-ml.so.1");

  struct Reading {
    int64_t used = 0;  ///< Bytes used by all processes.
    /// Bytes that this process holds. If the driver does not list processes, or numbers them in another
    /// namespace, as in containers, it is the growth of `used` since the monitor was opened.
    int64_t held = 0;
    std::optional<double> busy = {};  ///< Share of the driver's last sampling period in which a kernel ran.
  };
  /// Reads the GPU; returns nullopt if NVML fails.
  std::optional<Reading> read() const;

 private:
  using Handle = void*;
  GpuMonitor(SharedLibrary nvml, Handle gpu);
  // used() returns the bytes of all processes; of_this_process() those of this process, or nullopt if the
  // driver does not list it; busy() the busy share.
  std::optional<int64_t> used() const;
  std::optional<int64_t> of_this_process() const;
  std::optional<double> busy() const;

  const SharedLibrary nvml_;
  const Handle gpu_;
  int64_t used_before_ = 0;
  bool names_processes_ = false;
};

}  // namespace plimsoll
