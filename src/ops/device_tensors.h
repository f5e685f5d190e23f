#pragma once

#include <cstdint>
#include <functional>
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

  /// Memory for a tensor of so many bytes, for work on `stream`; null for none. Errors: DeviceRegionFull.
  void* take(int64_t bytes, const void* stream = nullptr);
  /// `stream`: as it was taken for.
  void give(void* data, int64_t bytes, const void* stream = nullptr) noexcept;

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

  /// Work on a piece of the region may still go on when it is given back, and whoever takes it next comes
  /// after that on the same stream. Before pieces go to another stream, `wait` waits for all work.
  void wait_between_streams(std::function<void()> wait) { wait_ = std::move(wait); }
  /// What becomes of a refusal: `refuse` throws another exception, or returns, and DeviceRegionFull is
  /// thrown.
  void set_refusal(void (*refuse)(const DeviceRegionFull& full)) { refuse_ = refuse; }

  int64_t bytes() const { return region_->bytes(); }
  int64_t in_use() const;
  /// The most in use since the last begin_peak(), which gives what it was.
  int64_t peak() const;
  int64_t begin_peak();
  /// Ends what a begin_peak() began, which gave `outer`: the peak is of both.
  void end_peak(int64_t outer);
  /// The end of the last piece there ever was.
  int64_t high() const;

 private:
  void* take_of_region(int64_t bytes, const void* stream);

  DeviceRegion* region_;
  std::function<void()> wait_;
  void (*refuse_)(const DeviceRegionFull&) = nullptr;
  mutable std::mutex mutex_;
  const void* last_stream_ = nullptr;  // that a piece was taken for
  bool freed_on_other_ = false;        // since then
  int64_t peak_ = 0;
  std::vector<Stretch> rooms_;
};

/// While it lives, tensors that this thread makes on a device lie in `range`, or without one in the region,
/// and `recorder`, if any, writes them down. With `cpu` those that it makes on the CPU are of that device,
/// too: for tests of what works on a device, on one whose memory the host can use. Of nested ones the
/// innermost holds.
class DeviceRangeScope : private WorkspaceListener {
 public:
  explicit DeviceRangeScope(DeviceRange* range, TapeRecorder* recorder = nullptr,
                            DeviceTensors* cpu = nullptr);
  ~DeviceRangeScope() override;
  DeviceRangeScope(const DeviceRangeScope&) = delete;
  DeviceRangeScope& operator=(const DeviceRangeScope&) = delete;

  /// Where this thread's tensors on the CPU lie; null: with the others of the host.
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
