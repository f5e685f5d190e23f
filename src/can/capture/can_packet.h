#pragma once

#include "can/capture/frame_reader.h"

namespace plimsoll {

// Packets of Linux that hold frames of CAN, as libpcap writes them.

inline constexpr uint32_t kSocketCanLink = 227;  ///< LINKTYPE_CAN_SOCKETCAN: the frame alone
inline constexpr uint32_t kCookedLink = 113;  ///< LINKTYPE_LINUX_SLL: after a header that names the protocol

inline bool is_can_link(uint32_t link) {
  return link == kSocketCanLink || link == kCookedLink;
}

struct CanPacket {
  uint32_t link;
  const uint8_t* at;  ///< all of its bytes, or the first 88: no payload goes beyond them
  size_t bytes;
  bool swapped;  ///< the file has the other byte order than this machine
};

/// Fills in all of `frame` but its time and channel. False where the packet is of another protocol. Bytes
/// beyond a frame are counted. Errors: InputError by `taker`, which says the same of byte `position`: a
/// packet that was not captured whole, CAN XL.
bool read_can_packet(const CanPacket& packet, const FrameTaker& taker, int64_t position, RawFrame& frame,
                     LineNotes& notes);

}  // namespace plimsoll
