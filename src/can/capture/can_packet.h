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
  uint32_t link;  ///< Link type, for which is_can_link() is true.
  /// The packet, of which at least the first 88 bytes must be in memory. No payload extends beyond these.
  const uint8_t* at;
  size_t bytes;  ///< Bytes of the whole packet.
  bool swapped;  ///< The file's byte order differs from this machine's.
};

/// Sets the ID and the payload of `frame`, which points into the packet, and adds to its flags. Returns false
/// if the packet has another protocol. Bytes after the frame are counted in `notes`. Errors: InputError
/// through `taker`, at byte `position`, for an incomplete packet, a payload over 64 bytes and CAN XL.
bool read_can_packet(const CanPacket& packet, const FrameTaker& taker, int64_t position, RawFrame& frame,
                     LineNotes& notes);

}  // namespace plimsoll
