#pragma once

#include "can/capture/frame_reader.h"

namespace plimsoll {

// Linux packets that hold CAN frames, as libpcap writes them.

inline constexpr uint32_t kSocketCanLink = 227;  ///< LINKTYPE_CAN_SOCKETCAN: a packet is only a frame.
/// LINKTYPE_LINUX_SLL: a packet is a header that states the protocol, followed by a frame.
inline constexpr uint32_t kCookedLink = 113;

inline bool is_can_link(uint32_t link) {
  return link == kSocketCanLink || link == kCookedLink;
}

struct CanPacket {
  uint32_t link;
  /// The bytes of the packet, or its first 88 bytes, because no payload extends beyond these.
  const uint8_t* at;
  size_t bytes;
  bool swapped;  ///< The file's byte order differs from this machine's.
};

/// Sets all members of `frame` except its time and channel. Returns false if the packet has another protocol.
/// Bytes after the frame are counted in `notes`. Errors: InputError through `taker`, at byte `position`, for
/// an incomplete packet and for CAN XL.
bool read_can_packet(const CanPacket& packet, const FrameTaker& taker, int64_t position, RawFrame& frame,
                     LineNotes& notes);

}  // namespace plimsoll
