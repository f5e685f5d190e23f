#pragma once

#include "can/capture/frame_reader.h"

namespace plimsoll {

// Linux packets that hold CAN frames, as libpcap writes them.

inline constexpr uint32_t kSocketCanLink = 227;  ///< LINKTYPE_CAN_SOCKETCAN: only the frame.
/// LINKTYPE_LINUX_SLL: the frame after a header that names the protocol.
inline constexpr uint32_t kCookedLink = 113;

inline bool is_can_link(uint32_t link) {
  return link == kSocketCanLink || link == kCookedLink;
}

struct CanPacket {
  uint32_t link;
  const uint8_t* at;  ///< All of its bytes, or the first 88: no payload extends beyond them.
  size_t bytes;
  bool swapped;  ///< The file's byte order differs from this machine's.
};

/// Fills in all of `frame` except its time and channel. Returns false if the packet has another protocol.
/// Bytes beyond a frame are counted. Errors: InputError through `taker`, at byte `position`, for an
/// incomplete packet and for CAN XL.
bool read_can_packet(const CanPacket& packet, const FrameTaker& taker, int64_t position, RawFrame& frame,
                     LineNotes& notes);

}  // namespace plimsoll
