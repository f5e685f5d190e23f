#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/mutex.h"
#include "device/device_region.h"
#include "memory/slab.h"
#include "memory/tape.h"

namespace plimsoll {

/// Allocates the memory of tensors on a device: pieces of its region, or of the thread's current range
/// (DeviceRangeScope). Thread-safe.
class DeviceTensors {
 public:
  /// `region` must outlive this object, which must outlive all tensors. Nothing else may use `region`.
  explicit DeviceTensors(DeviceRegion& region) : region_(&region) {}

  /// Replaces the region while no tensors exist. Call leave_region() before the old region is destroyed, and
  /// move_to() once the new one exists.
  void leave_region() {
    const MutexLock lock(mutex_);
    region_ = nullptr;
  }
  void move_to(DeviceRegion& region) {
    const MutexLock lock(mutex_);
    region_ = &region;
  }

  /// Allocates memory for a tensor of `bytes` bytes, for work on `stream`; null for 0 bytes. Errors:
  /// DeviceRegionFull, those of DeviceRange::take(), what set_refusal() throws; Failure after leave_region().
  void* take(int64_t bytes, const void* stream = nullptr);
  /// Frees memory. `stream` must be the stream for which it was allocated.
  void give(void* data, int64_t bytes, const void* stream = nullptr) noexcept;

  /// A piece of the region that holds the ranges of blocks, one after the other.
  class HeldMemory {
   public:
    /// Errors: DeviceRegionFull.
    HeldMemory(DeviceTensors& tensors, int64_t bytes);
    ~HeldMemory();
    HeldMemory(const HeldMemory&) = delete;
    HeldMemory& operator=(const HeldMemory&) = delete;

    Stretch stretch() const { return stretch_; }

   private:
    DeviceTensors& tensors_;
    const Stretch stretch_;
  };

  /// Work on a piece of the region may still be running when the piece is freed. If the piece is reused on
  /// the same stream, the new work runs after the old. Before it is reused on another stream, `wait` is
  /// called, which must wait for all work.
  void wait_between_streams(std::function<void()> wait) {
    const MutexLock lock(mutex_);
    wait_ = std::move(wait);
  }
  /// Sets a function that is called when memory is refused. `refuse` throws another exception; if it returns,
  /// DeviceRegionFull is thrown.
  void set_refusal(void (*refuse)(const DeviceRegionFull& full)) {
    const MutexLock lock(mutex_);
    refuse_ = refuse;
  }

  /// Returns the size of the region, which must exist.
  int64_t bytes() const {
    const MutexLock lock(mutex_);
    return region_->bytes();
  }
  /// Returns the bytes of the region that are in use.
  int64_t in_use() const;
  /// Returns the maximum bytes in use since the last begin_peak(). begin_peak() starts a new interval and
  /// returns the peak of the previous one.
  int64_t peak() const;
  int64_t begin_peak();
  /// Ends an interval. `outer` is the value that the matching begin_peak() returned. The peak becomes the
  /// maximum of `outer` and the interval's peak.
  void end_peak(int64_t outer);
  /// Returns the highest end of any piece of the region so far.
  int64_t high() const;

 private:
  void* take_of_region(int64_t bytes, const void* stream);

  mutable Mutex mutex_;
  DeviceRegion* region_ PLIMSOLL_GUARDED_BY(mutex_);
  std::function<void()> wait_ PLIMSOLL_GUARDED_BY(mutex_);
  void (*refuse_)(const DeviceRegionFull&) PLIMSOLL_GUARDED_BY(mutex_) = nullptr;
  // The stream for which memory was last allocated.
  const void* last_stream_ PLIMSOLL_GUARDED_BY(mutex_) = nullptr;
  // Whether memory of another stream was freed since that allocation.
  bool freed_on_other_ PLIMSOLL_GUARDED_BY(mutex_) = false;
  int64_t peak_ PLIMSOLL_GUARDED_BY(mutex_) = 0;
  std::vector<Stretch> held_ PLIMSOLL_GUARDED_BY(mutex_);
};

/// For its lifetime, tensors that this thread creates on a device are in `range`, or in the region if `range`
/// is null, and are recorded by `recorder` if that is not null. With `cpu`, tensors that the thread creates
/// on the CPU use that memory as well. This is for tests of device code, on a device whose memory the host
/// can access. If scopes are nested, the innermost one applies.
class DeviceRangeScope : private WorkspaceListener {
 public:
  explicit DeviceRangeScope(DeviceRange* range, TapeRecorder* recorder = nullptr,
                            DeviceTensors* cpu = nullptr);
  ~DeviceRangeScope() override;
  DeviceRangeScope(const DeviceRangeScope&) = delete;
  DeviceRangeScope& operator=(const DeviceRangeScope&) = delete;

  /// Returns the DeviceTensors that allocates this thread's CPU tensors; null if they use the host's memory.
  static DeviceTensors* cpu_tensors();

 private:
  void begin_workspace() override;
  void end_workspace() noexcept override;

  DeviceRange* const range_;
  TapeRecorder* const recorder_;
  DeviceTensors* const cpu_;
  DeviceRangeScope* const outer_;
  friend class DeviceTensors;
};

}  // namespace plimsoll
