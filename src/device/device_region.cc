#include "device/device_region.h"

#include <fmt/format.h>

#include <utility>

#include "base/units.h"

namespace plimsoll {
namespace {

Stretch place(Packing& packing, Stretch stretch, int64_t bytes) {
  const int64_t rounded = DeviceRegion::round_up(bytes);
  const int64_t at = packing.take(rounded);
  if (at < 0) throw DeviceRegionFull(bytes, packing.in_use(), stretch.bytes);
  return {stretch.data + at, bytes};
}

void give_back(Packing& packing, Stretch stretch, Stretch piece) noexcept {
  packing.give(piece.data - stretch.data, DeviceRegion::round_up(piece.bytes));
}

}  // namespace

DeviceRegionFull::DeviceRegionFull(int64_t asked, int64_t in_use, int64_t bytes)
    : Error(4, fmt::format("no space in the device's region: {} requested, {} of {} in use; raise "
                           "--device-budget",
                           format_bytes(asked), format_bytes(in_use), format_bytes(bytes))),
      asked_(asked),
      in_use_(in_use),
      bytes_(bytes) {}

DeviceRegion::DeviceRegion(Device& device, int64_t bytes)
    : memory_(device.take_memory(bytes)), packing_(bytes) {}

Stretch DeviceRegion::take(int64_t bytes) {
  const Stretch piece = place(packing_, memory_->stretch(), bytes);
  try {
    memory_->begin_piece(piece);
  } catch (...) {
    give_back(packing_, memory_->stretch(), piece);
    throw;
  }
  return piece;
}

void DeviceRegion::give(Stretch piece) noexcept {
  memory_->end_piece(piece);
  give_back(packing_, memory_->stretch(), piece);
}

DeviceRange::DeviceRange(Stretch stretch, DeviceStream& stream, std::span<const PlannedAllocation> plan)
    : stretch_(stretch), stream_(stream), packing_(stretch.bytes, plan) {}

DeviceRange::~DeviceRange() {
  stream_.end_range(stretch_);
}

Stretch DeviceRange::take(int64_t bytes) {
  Stretch piece;
  if (workspace_.bytes > 0) {
    const int64_t at = short_lived_.take(DeviceRegion::round_up(bytes));
    if (at >= 0)
      piece = {stretch_.data + workspace_.place + at, bytes};
    else
      packing_.leave_plan();
  }
  if (piece.data == nullptr) piece = place(packing_, stretch_, bytes);
  stream_.begin_piece(piece);
  return piece;
}

void DeviceRange::give(Stretch piece) noexcept {
  stream_.end_piece(piece);
  const int64_t at = piece.data - stretch_.data - workspace_.place;
  if (at >= 0 && at < workspace_.bytes)
    short_lived_.give(at, DeviceRegion::round_up(piece.bytes));
  else
    give_back(packing_, stretch_, piece);
}

void DeviceRange::take_nothing() {
  if (workspace_.bytes == 0) (void)packing_.take(0);
}

void DeviceRange::begin_workspace() {
  workspace_ = packing_.take_workspace();
  short_lived_ = Packing(workspace_.bytes);
}

void DeviceRange::end_workspace() noexcept {
  const PlannedAllocation workspace = std::exchange(workspace_, {});
  if (workspace.bytes > 0 && short_lived_.in_use() == 0) packing_.give(workspace.place, workspace.bytes);
}

}  // namespace plimsoll
