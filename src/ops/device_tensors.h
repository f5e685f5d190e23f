#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "device/device_region.h"
#include "memory/slab.h"
#include "memory/tape.h"

namespace plimsoll {

/// The memory of tensors on a device: pieces of its region, or of the range that the thread works in
/// (DeviceRangeScope). Thread-safe.
class DeviceTensors {
 public:
  /// Must outlive it, as it must outlive all tensors. `region` is used by it alone.
  explicit DeviceTensors(DeviceRegion& region) : region_(&region) {}

  /// Without tensors: they come from another region from then on, which is there before the next one.
  void leave_region() { region_ = nullptr; }
  void move_to(DeviceRegion& region) { region_ = &region; }

  /// Memory for a tensor of so many bytes; null for none. Errors: DeviceRegionFull.
  void* take(int64_t bytes);
  void give(void* data, int64_t bytes) noexcept;

  /// A piece of the region in which blocks have their ranges, one after the other.
  class Room {
   public:
    /// Errors: DeviceRegionFull.
    Room(DeviceTensors& tensors, int64_t bytes);
    ~Room();
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;

    Stretch stretch() const { return stretch_; }

   private:
    DeviceTensors& tensors_;
    const Stretch stretch_;
  };

  int64_t bytes() const { return region_->bytes(); }
  int64_t in_use() const;
  /// The end of the last piece there ever was.
  int64_t high() const;

 private:
  DeviceRegion* region_;
  mutable std::mutex mutex_;
  std::vector<Stretch> rooms_;
};

/// While it lives, tensors that this thread makes on a device lie in `range`, and `recorder`, if any, writes
/// them down. With `cpu` those that it makes on the CPU are of that device, too: for tests of what works on a
/// device, on one whose memory the host can use. May not be nested.
class DeviceRangeScope : private WorkspaceListener {
 public:
  explicit DeviceRangeScope(DeviceRange& range, TapeRecorder* recorder = nullptr,
                            DeviceTensors* cpu = nullptr);
  ~DeviceRangeScope() override;
  DeviceRangeScope(const DeviceRangeScope&) = delete;
  DeviceRangeScope& operator=(const DeviceRangeScope&) = delete;

  /// Where this thread's tensors on the CPU lie; null: with the others of the host.
  static DeviceTensors* cpu_tensors();

 private:
  void begin_workspace() override;
  void end_workspace() noexcept override;
};

}  // namespace plimsoll
