#pragma once

#include <array>

#include "can/capture/frame_reader.h"

namespace plimsoll {

// Objects of Vector's Binary Logging Format, and the frames in them.

/// Bytes of an object's header: signature, sizes of header and object, version and type.
inline constexpr size_t kBlfObjectHeader = 16;
inline constexpr uint32_t kBlfContainer = 10;  ///< Type of the object that holds others.
inline constexpr size_t kMaxBlfFrame = 4096;   ///< Maximum bytes of a frame's object.

struct BlfObject {
  uint32_t header_size;
  uint16_t header_version;
  uint32_t size;  ///< Bytes of the object with its header, as the file states them.
  uint32_t type;
};

/// Whether the signature of an object is at `at`, which must have 4 bytes.
bool is_blf_object(const uint8_t* at);
/// The header at `at`, which must have kBlfObjectHeader bytes.
BlfObject blf_object(const uint8_t* at);
/// Whether a valid header of a frame's object is at `at`, which must have kBlfObjectHeader bytes.
bool is_blf_frame(const uint8_t* at);

/// Minimum bytes of a frame after the header, without a payload of variable length; 0 if `type` is not a
/// frame.
size_t blf_frame_bytes(uint32_t type);

// For the next two functions, `at` points to the bytes after the header of a frame's object; at least
// blf_frame_bytes() bytes must follow.

/// Whether the object is only a request to send a frame. A request was never on the bus; when the frame is
/// sent, it gets an object of its own.
bool is_blf_request(uint32_t type, const uint8_t* at);
/// Whether the object holds a frame of CAN XL.
bool is_blf_xl(uint32_t type, const uint8_t* at);

using BlfPayload = std::array<uint8_t, 64>;

/// Fills `frame` from the `held` bytes at `at`. The time of `frame` is kept; its other members must have
/// their default values. The payload points into these bytes or into `padded`. Returns the number of bytes
/// from `at` to the end of the payload, or of the fixed fields if there is no payload.
size_t fill_blf_frame(const BlfObject& object, const uint8_t* at, size_t held, BlfPayload& padded,
                      RawFrame& frame);

}  // namespace plimsoll
