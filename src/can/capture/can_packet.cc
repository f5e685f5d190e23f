#include "can/capture/can_packet.h"

#include <fmt/format.h>

#include "can/capture/byte_window.h"
#include "can/frames/frames.h"

namespace plimsoll {
namespace {

constexpr size_t kCookedHeader = 16;  // Packet type, kind of device, address, protocol, all big-endian.
constexpr size_t kCanHeader = 8;      // ID and flags, payload length, FD flags, two bytes.
constexpr size_t kClassicFrame = 16;  // Size of struct can_frame.
constexpr size_t kFdFrame = 72;       // Size of struct canfd_frame.

// Values of ETH_P_CAN and so on.
enum Protocol : uint16_t { kCan = 0x000C, kCanFd = 0x000D, kCanXl = 0x000E };
constexpr uint16_t kOutgoing = 4;  // Packet type of sent frames.

uint16_t big_endian(const uint8_t* at) {
  return static_cast<uint16_t>(at[0] << 8 | at[1]);
}

// Removes flags of an ID that cannot occur together.
uint32_t sound_id(uint32_t id) {
  if ((id & kCanError) != 0) id &= ~kCanExtended;
  if ((id & (kCanExtended | kCanError)) == 0) id &= kCanRemote | 0x7FF;
  return id;
}

}  // namespace

bool read_can_packet(const CanPacket& packet, const FrameTaker& taker, int64_t position, RawFrame& frame,
                     LineNotes& notes) {
  const size_t head = packet.link == kCookedLink ? kCookedHeader : 0;
  const bool names_protocol = head != 0 && packet.bytes >= head;
  const uint16_t protocol = names_protocol ? big_endian(packet.at + kCookedHeader - 2) : uint16_t{kCan};
  if (protocol != kCan && protocol != kCanFd && protocol != kCanXl) return false;
  if (packet.bytes < head + kCanHeader)
    taker.refuse(position, fmt::format("a packet of {} bytes", packet.bytes),
                 fmt::format("{} or more, as in a CAN frame", head + kCanHeader));
  const uint8_t* const at = packet.at + head;
  const size_t bytes = packet.bytes - head;
  const size_t length = at[4];
  if (length > 64 || protocol == kCanXl)
    taker.refuse(position, fmt::format("a payload of {} bytes", length), "at most 64; CAN XL is not read");
  // In cooked packets the ID is in the byte order of the file; in other packets it is big-endian.
  const auto id = load<uint32_t>(at);
  frame.can_id = sound_id(head == 0 || packet.swapped ? __builtin_bswap32(id) : id);
  if (head != 0 && big_endian(packet.at) == kOutgoing) frame.flags |= kFrameSent;
  // The byte after the length of a classic frame does not hold flags. Newer kernels mark CAN FD frames in it.
  const bool fd = (at[5] & kFrameFd) != 0 || length > kPayloadBytes || protocol == kCanFd;
  if (fd) frame.flags |= static_cast<uint8_t>((at[5] & (kFrameBrs | kFrameEsi)) | kFrameFd);
  const bool is_remote = (frame.can_id & kCanRemote) != 0;
  if (!is_remote && length > bytes - kCanHeader)
    taker.refuse(position, fmt::format("{} bytes of a payload of {}", bytes - kCanHeader, length),
                 "all of it: capture whole packets, as tcpdump -s 0 does");
  const size_t whole = fd || bytes >= kFdFrame ? kFdFrame : kClassicFrame;
  if (bytes > whole) notes.stray_bytes += static_cast<int64_t>(bytes - whole);
  frame.data = at + kCanHeader;
  frame.length = is_remote ? 0 : length;
  return true;
}

}  // namespace plimsoll
