#include "device/device_region.h"

#include <fmt/format.h>

#include "base/units.h"

namespace plimsoll {
namespace {

Stretch place(Packing& packing, Stretch room, int64_t bytes) {
  const int64_t rounded = DeviceRegion::round_up(bytes);
  const int64_t at = packing.take(rounded);
  if (at < 0) throw DeviceRegionFull(bytes, packing.in_use(), room.bytes);
  return {room.data + at, bytes};
}

void give_back(Packing& packing, Stretch room, Stretch piece) {
  packing.give(piece.data - room.data, DeviceRegion::round_up(piece.bytes));
}

}  // namespace

DeviceRegionFull::DeviceRegionFull(int64_t asked, int64_t in_use, int64_t bytes)
    : Error(4, fmt::format("no room in the device's region: {} asked for, {} of {} in use; raise "
                           "--device-budget",
                           format_bytes(asked), format_bytes(in_use), format_bytes(bytes))) {}

DeviceRegion::DeviceRegion(Device& device, int64_t bytes)
    : memory_(device.take_memory(bytes)), packing_(bytes) {}

Stretch DeviceRegion::take(int64_t bytes) {
  const Stretch piece = place(packing_, memory_->stretch(), bytes);
  memory_->begin_piece(piece);
  return piece;
}

void DeviceRegion::give(Stretch piece) {
  memory_->end_piece(piece);
  give_back(packing_, memory_->stretch(), piece);
}

DeviceRange::DeviceRange(Stretch room, DeviceStream& stream, std::span<const PlannedPiece> plan)
    : room_(room), stream_(stream), packing_(room.bytes, plan) {}

Stretch DeviceRange::take(int64_t bytes) {
  const Stretch piece = place(packing_, room_, bytes);
  stream_.begin_piece(piece);
  return piece;
}

void DeviceRange::give(Stretch piece) {
  stream_.end_piece(piece);
  give_back(packing_, room_, piece);
}

}  // namespace plimsoll
