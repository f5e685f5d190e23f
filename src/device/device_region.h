#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "device/device.h"
#include "memory/packing.h"

namespace plimsoll {

/// Divides the region of a device into pieces. Its data structures are in host memory. Pieces are aligned to
/// 256 bytes, as CUDA's own allocations are. Not thread-safe.
class DeviceRegion {
 public:
  static constexpr int64_t kAlignment = 256;
  static constexpr int64_t round_up(int64_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

  /// Errors: those of Device::take_memory().
  DeviceRegion(Device& device, int64_t bytes);

  /// Allocates a piece that lives until give() frees it, such as memory for weights or the range of a stream.
  /// Errors: DeviceRegionFull; in the stand-in, DeviceFault.
  Stretch take(int64_t bytes);
  /// Frees a piece. The host must have waited for all work on it.
  void give(Stretch piece) noexcept;

  int64_t bytes() const { return memory_->stretch().bytes; }
  int64_t in_use() const { return packing_.in_use(); }
  /// The highest end of any piece so far: a region of that size is large enough.
  int64_t high() const { return packing_.high(); }

 private:
  std::unique_ptr<DeviceMemory> memory_;
  Packing packing_;
};

/// The memory of a block's tensors: a piece of the region that belongs to one stream and is divided into
/// smaller pieces. These begin and end in the order of the stream, so the host can allocate the next one
/// without waiting for work on the previous one. They are placed by the plan (memory/layout.h), or where
/// space is free. A range must be destroyed after its pieces. Its memory may be freed once the host has
/// waited for the stream. Not thread-safe.
class DeviceRange {
 public:
  /// `plan` has the pieces of one block, in their order. `plan` and `stream` must outlive the range.
  DeviceRange(Stretch stretch, DeviceStream& stream, std::span<const PlannedAllocation> plan = {});
  ~DeviceRange();
  DeviceRange(const DeviceRange&) = delete;
  DeviceRange& operator=(const DeviceRange&) = delete;

  /// Allocates a piece. Errors: DeviceRegionFull; in the stand-in, DeviceFault. The same sequence of sizes
  /// always fails at the same piece, whatever other streams do.
  Stretch take(int64_t bytes);
  /// Frees a piece in the order of the stream. The host need not wait for the work on it.
  void give(Stretch piece) noexcept;
  /// Allocates a piece of 0 bytes, which is a step of the plan.
  void take_nothing();
  /// Begins a workspace, which cannot be nested. Pieces allocated from now on must be freed before
  /// end_workspace(). They are placed in the plan's stretch for workspaces.
  void begin_workspace();
  void end_workspace() noexcept;

  Stretch stretch() const { return stretch_; }
  /// The highest end of any piece so far, in bytes from the start of the range.
  int64_t high() const { return packing_.high(); }
  bool left_plan() const { return packing_.left_plan(); }

 private:
  Stretch stretch_;
  DeviceStream& stream_;
  Packing packing_;
  PlannedAllocation workspace_;       // Has 0 bytes outside a workspace.
  Packing short_lived_ = Packing(0);  // Places in the workspace.
};

/// Thrown if a region or range has no space for a piece; exit code 4.
class DeviceRegionFull : public Error {
 public:
  /// All three are bytes; `bytes` is the size of the region or range.
  DeviceRegionFull(int64_t asked, int64_t in_use, int64_t bytes);
  int64_t asked() const { return asked_; }
  int64_t in_use() const { return in_use_; }
  int64_t bytes() const { return bytes_; }

 private:
  int64_t asked_;
  int64_t in_use_;
  int64_t bytes_;
};

}  // namespace plimsoll
