#include "can/capture/blf_frame.h"

#include <algorithm>

#include "can/capture/byte_window.h"

// Sizes and meanings of fields follow python-can's can/io/blf.py (LGPL-3.0), Technica's vector_blf (GPL-3.0)
// and, for headers of version 3 and channels of CAN XL, Wireshark's wiretap/blf.h (GPL-2.0).

namespace plimsoll {
namespace {

enum BlfType : uint32_t {
  kCanMessage = 1,
  kCanErrorFrame = 2,
  kCanErrorExt = 73,
  kCanMessage2 = 86,
  kCanFdMessage = 100,
  kCanFdMessage64 = 101,
  kCanFdError64 = 104,
  kCanXlFrame = 139,  // Frame on a CAN XL channel, which may be classic CAN or CAN FD.
};

uint32_t id_of(uint32_t id, bool remote) {
  return (id & 0x1FFFFFFF) | ((id & kCanExtended) != 0 || (id & 0x1FFFFFFF) > 0x7FF ? kCanExtended : 0) |
         (remote ? kCanRemote : 0);
}

uint8_t sent_if(bool sent) {
  return sent ? kFrameSent : 0;
}

// Converts Vector's bits: 1 CAN FD, 2 bit rate switched, 4 error passive.
uint8_t fd_flags(uint32_t bits) {
  return static_cast<uint8_t>(((bits & 1) != 0 ? kFrameFd : 0) | ((bits & 2) != 0 ? kFrameBrs : 0) |
                              ((bits & 4) != 0 ? kFrameEsi : 0));
}

size_t fill_classic(const uint8_t* at, RawFrame& frame) {
  const bool remote = (at[2] & 0x80) != 0;
  frame.flags = sent_if((at[2] & 1) != 0);
  frame.channel = load<uint16_t>(at);
  frame.can_id = id_of(load<uint32_t>(at + 4), remote);
  frame.length = remote ? 0 : std::min<size_t>(at[3], 8);
  frame.data = at + 8;
  return 16;
}

size_t fill_fd(const uint8_t* at, size_t held, RawFrame& frame) {
  const bool remote = (at[2] & 0x80) != 0;
  frame.flags = sent_if((at[2] & 1) != 0) | fd_flags(at[13]);
  frame.channel = load<uint16_t>(at);
  frame.can_id = id_of(load<uint32_t>(at + 4), remote);
  const size_t max = std::min<size_t>(held - 20, 64);
  frame.length = remote ? 0 : std::min<size_t>(at[14], max);
  frame.data = at + 20;
  return 20 + max;
}

size_t fill_fd64(const BlfObject& object, const uint8_t* at, size_t held, BlfPayload& padded,
                 RawFrame& frame) {
  const auto flags = load<uint32_t>(at + 12);
  const bool remote = (flags & 0x10) != 0;
  frame.flags = sent_if(at[34] != 0) | fd_flags(flags >> 12);
  frame.channel = at[0];
  frame.can_id = id_of(load<uint32_t>(at + 4), remote);
  // The stated length may exceed the payload. Zeros follow then, as in Vector's own library.
  const size_t length = std::min<size_t>(at[2], 64);
  const size_t end = at[35] != 0 ? at[35] : object.size;
  const size_t before = object.header_size + size_t{40};
  const size_t available = std::min({length, held - 40, end > before ? end - before : 0});
  padded.fill(0);
  std::copy_n(at + 40, available, padded.begin());
  frame.data = padded.data();
  frame.length = remote ? 0 : length;
  return 40 + available;
}

size_t fill_xl_channel(const uint8_t* at, size_t held, RawFrame& frame) {
  const auto flags = load<uint32_t>(at + 48);
  const bool remote = (flags & 0x10) != 0;
  frame.flags = sent_if(at[2] != 0) | fd_flags(flags >> 12);
  frame.channel = at[0];
  frame.can_id = id_of(load<uint32_t>(at + 12), remote);
  const size_t length = std::min<size_t>({load<uint16_t>(at + 20), 64, held - 104});
  frame.length = remote ? 0 : length;
  frame.data = at + 104;
  return 104 + length;
}

size_t fill_error(const BlfObject& object, const uint8_t* at, size_t held, RawFrame& frame) {
  frame.channel = object.type == kCanFdError64 ? at[0] : load<uint16_t>(at);
  frame.can_id = kCanError;
  if (object.type != kCanErrorExt) return blf_frame_bytes(object.type);
  frame.can_id |= load<uint32_t>(at + 16) & 0x1FFFFFFF;
  frame.length = std::min<size_t>({at[10], 8, held - 24});
  frame.data = at + 24;
  return 24 + frame.length;
}

}  // namespace

bool is_blf_object(const uint8_t* at) {
  return load<uint32_t>(at) == 0x4A424F4C;  // LOBJ
}

BlfObject blf_object(const uint8_t* at) {
  return {load<uint16_t>(at + 4), load<uint16_t>(at + 6), load<uint32_t>(at + 8), load<uint32_t>(at + 12)};
}

bool is_blf_frame(const uint8_t* at) {
  if (!is_blf_object(at)) return false;
  const BlfObject object = blf_object(at);
  return blf_frame_bytes(object.type) > 0 && object.header_version >= 1 && object.header_version <= 3 &&
         object.header_size >= kBlfObjectHeader && object.header_size <= 64 &&
         object.size >= object.header_size && object.size <= kMaxBlfFrame;
}

size_t blf_frame_bytes(uint32_t type) {
  switch (type) {
    case kCanMessage:
    case kCanMessage2:
      return 16;
    case kCanErrorFrame:
      return 4;
    case kCanErrorExt:
      return 24;
    case kCanFdMessage:
      return 20;
    case kCanFdMessage64:
      return 40;
    case kCanFdError64:
      return 16;
    case kCanXlFrame:
      return 104;
    default:
      return 0;
  }
}

bool is_blf_request(uint32_t type, const uint8_t* at) {
  return (type == kCanFdMessage64 && at[34] == 2) || (type == kCanXlFrame && at[2] == 2);
}

bool is_blf_xl(uint32_t type, const uint8_t* at) {
  return type == kCanXlFrame && (load<uint32_t>(at + 48) & 0x400000) != 0;
}

size_t fill_blf_frame(const BlfObject& object, const uint8_t* at, size_t held, BlfPayload& padded,
                      RawFrame& frame) {
  frame.data = at;
  switch (object.type) {
    case kCanMessage:
    case kCanMessage2:
      return fill_classic(at, frame);
    case kCanFdMessage:
      return fill_fd(at, held, frame);
    case kCanFdMessage64:
      return fill_fd64(object, at, held, padded, frame);
    case kCanXlFrame:
      return fill_xl_channel(at, held, frame);
    default:
      return fill_error(object, at, held, frame);
  }
}

}  // namespace plimsoll
