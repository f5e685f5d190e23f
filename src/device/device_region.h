#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "device/device.h"
#include "memory/packing.h"

namespace plimsoll {

/// The one region of a device, divided into pieces by the host: its books lie in host memory, nothing of them
/// on the device. Pieces are aligned to 256 bytes, as CUDA's own are. Not thread-safe.
class DeviceRegion {
 public:
  static constexpr int64_t kAlignment = 256;
  static constexpr int64_t round_up(int64_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

  /// Errors: as Device::take_memory().
  DeviceRegion(Device& device, int64_t bytes);

  /// A piece that lives until it is given back, such as weights, or the range of a stream. Errors:
  /// DeviceRegionFull.
  Stretch take(int64_t bytes);
  /// All work on the piece must have been waited for.
  void give(Stretch piece) noexcept;

  int64_t bytes() const { return memory_->stretch().bytes; }
  int64_t in_use() const { return packing_.in_use(); }
  /// The end of the last piece there ever was: a region of that size is enough.
  int64_t high() const { return packing_.high(); }

 private:
  std::unique_ptr<DeviceMemory> memory_;
  Packing packing_;
};

/// What a block's tensors are pieces of: a piece of the region that belongs to one stream. Pieces begin and
/// end in the order of the stream, so that the host takes the next one without waiting for the last one's
/// work; they go where the plan says (memory/layout.h), or where there is room. Ends after its pieces; its
/// room may be given back once the stream has been waited for. Not thread-safe.
class DeviceRange {
 public:
  /// `plan`, which must outlive the range, is for the pieces of one block, in their order.
  DeviceRange(Stretch stretch, DeviceStream& stream, std::span<const PlannedPiece> plan = {});
  ~DeviceRange();
  DeviceRange(const DeviceRange&) = delete;
  DeviceRange& operator=(const DeviceRange&) = delete;

  /// Errors: DeviceRegionFull. The k-th piece is refused at the same place for the same sizes, whatever
  /// streams do.
  Stretch take(int64_t bytes);
  void give(Stretch piece) noexcept;
  /// A piece without bytes, which is a step of the plan.
  void take_nothing();
  /// What is taken until end_workspace() is given back by then, and goes to the plan's stretch for such
  /// pieces.
  void begin_workspace();
  void end_workspace() noexcept;

  Stretch stretch() const { return stretch_; }
  int64_t high() const { return packing_.high(); }
  bool left_plan() const { return packing_.left_plan(); }

 private:
  Stretch stretch_;
  DeviceStream& stream_;
  Packing packing_;
  PlannedPiece workspace_;            // without bytes outside of one
  Packing short_lived_ = Packing(0);  // places in it
};

/// A region or range has no room for a piece; exit code 4.
class DeviceRegionFull : public Error {
 public:
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
