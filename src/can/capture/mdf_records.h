#pragma once

#include <cmath>

#include "can/capture/mdf_groups.h"
#include "can/frames/frame_batch.h"

namespace plimsoll {

// What a record of a channel group says of its frame.

/// Nanoseconds after the start of seconds that are no more than `kMdfMaxSeconds` from it, as std::llround
/// has them, without a call for each frame: what is added is the number before a half.
inline int64_t mdf_nanoseconds(double seconds) {
  const double value = seconds * 1e9;
  return static_cast<int64_t>(value + std::copysign(0x1.fffffffffffffp-2, value));
}
/// Before the start, too: what a trigger kept.
constexpr double kMdfMaxSeconds = 2e9;

/// The ID with SocketCAN's flags, of what stands in the record.
inline uint32_t mdf_can_id(MdfCanGroup::Kind kind, uint32_t written, bool extended) {
  const uint32_t id = written & 0x1FFFFFFF;
  if (kind == MdfCanGroup::Kind::error) return id | kCanError;
  return id | (extended || id > 0x7FF ? kCanExtended : 0) |
         (kind == MdfCanGroup::Kind::remote ? kCanRemote : 0);
}

/// Bytes of a payload by its code, in CAN FD or not.
inline uint64_t mdf_length(uint64_t dlc, bool fd) {
  constexpr uint8_t kLengths[] = {12, 16, 20, 24, 32, 48, 64};
  if (dlc <= 8 || dlc > 15) return dlc;
  return fd ? kLengths[dlc - 9] : 8;
}

/// Records of one kind, with their payloads in them, one after the other.
struct MdfRecords {
  const MdfCanGroup& can;
  const uint8_t* first;
  size_t bytes;  ///< a record
  size_t count;
};

/// Appends the frames of the leading records, column after column, while they are of `channel`, sound, from
/// 1970 to `latest_ns`, and no longer than out.width. `out` has a frame of that channel. Gives how many.
size_t append_records(const MdfRecords& records, uint32_t channel, int64_t start_ns, int64_t latest_ns,
                      FrameBatch& out);

}  // namespace plimsoll
