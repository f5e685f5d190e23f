#pragma once

#include <cmath>

#include "can/capture/mdf_groups.h"
#include "can/frames/frame_batch.h"

namespace plimsoll {

// Conversion of the records of a channel group to frames.

/// Converts seconds to nanoseconds as std::llround does, by adding the largest number below one half, which
/// needs no function call per frame. The seconds must be at most kMdfMaxSeconds from the start.
inline int64_t mdf_nanoseconds(double seconds) {
  const double value = seconds * 1e9;
  return static_cast<int64_t>(value + std::copysign(0x1.fffffffffffffp-2, value));
}
/// Maximum seconds before or after the start. A logger with a trigger may keep frames from before the start.
constexpr double kMdfMaxSeconds = 2e9;

/// The ID with SocketCAN's flags, from the stored number.
inline uint32_t mdf_can_id(MdfCanGroup::Kind kind, uint32_t written, bool extended) {
  const uint32_t id = written & 0x1FFFFFFF;
  if (kind == MdfCanGroup::Kind::error) return id | kCanError;
  return id | (extended || id > 0x7FF ? kCanExtended : 0) |
         (kind == MdfCanGroup::Kind::remote ? kCanRemote : 0);
}

/// Payload bytes for a length code, in CAN FD or not.
inline uint64_t mdf_length(uint64_t dlc, bool fd) {
  constexpr uint8_t kLengths[] = {12, 16, 20, 24, 32, 48, 64};
  if (dlc <= 8 || dlc > 15) return dlc;
  return fd ? kLengths[dlc - 9] : 8;
}

/// Consecutive records of one kind that hold their payloads. A view.
struct MdfRecords {
  const MdfCanGroup& can;
  const uint8_t* first;
  size_t bytes;  ///< Bytes per record.
  size_t count;
};

/// Appends the frames of the leading records, column by column. Stops before the first record that is of
/// another channel, is invalid, has a time before 1970 or after `latest_ns`, has a payload longer than
/// out.width, or has a length code over 8 that must be converted. The last frame of `out` must be of
/// `channel`. Returns the number of frames appended.
size_t append_records(const MdfRecords& records, uint32_t channel, int64_t start_ns, int64_t latest_ns,
                      FrameBatch& out);

}  // namespace plimsoll
