#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/shared_library.h"

namespace plimsoll {

/// What NVML, the monitor of NVIDIA's driver, says of a GPU. It needs no context there, and is loaded, never
/// linked. Thread-safe.
class GpuMonitor {
 public:
  /// Of the GPU at this place of the PCI bus, as CUDA names it; null where NVML is not there or does not know
  /// it. Before this process has a context on the GPU: then what it holds is told apart from what others do.
  static std::unique_ptr<GpuMonitor> open(const std::string& bus,
                                          const std::string& library = "libnvidia-ml.so.1");

  struct Reading {
    int64_t used = 0;  ///< bytes, by all processes
    /// What this process holds, in bytes. Where the driver names no processes, or by numbers of another
    /// namespace, as in containers: by how much more is used than when the monitor was opened.
    int64_t held = 0;
    std::optional<double> busy = {};  ///< the share of the driver's last sample in which a kernel ran
  };
  /// None where NVML fails now.
  std::optional<Reading> read() const;

 private:
  using Handle = void*;
  GpuMonitor(SharedLibrary nvml, Handle gpu);
  // Bytes of all processes; of this one, none where the driver does not name it; the busy share.
  std::optional<int64_t> used() const;
  std::optional<int64_t> of_this_process() const;
  std::optional<double> busy() const;

  const SharedLibrary nvml_;
  const Handle gpu_;
  int64_t used_before_ = 0;
  bool names_processes_ = false;
};

}  // namespace plimsoll
