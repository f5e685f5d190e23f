#pragma once

#include <array>

#include "can/capture/frame_reader.h"

namespace plimsoll {

// Objects of Vector's Binary Logging Format, and the frames in them.

inline constexpr size_t kBlfObjectHeader = 16;  ///< signature, sizes of header and object, version, type
inline constexpr uint32_t kBlfContainer = 10;   ///< type of the object that holds others
inline constexpr size_t kMaxBlfFrame = 4096;    ///< maximum bytes of a frame's object

struct BlfObject {
  uint32_t header_size;
  uint16_t header_version;
  uint32_t size;
  uint32_t type;
};

/// Whether the signature of an object is at `at`, where there are 4 bytes.
bool is_blf_object(const uint8_t* at);
/// The header at `at`, where there are kBlfObjectHeader bytes.
BlfObject blf_object(const uint8_t* at);
/// Whether a sound header of a frame's object is at `at`, where there are kBlfObjectHeader bytes.
bool is_blf_frame(const uint8_t* at);

/// Bytes after the header that a frame has without a payload of variable length; 0 for what is no frame.
size_t blf_frame_bytes(uint32_t type);

// Of a frame's object, whose bytes after the header are at `at`, blf_frame_bytes() at least.

/// A request to send, which was not on the bus; the frame itself follows.
bool is_blf_request(uint32_t type, const uint8_t* at);
/// A frame of CAN XL.
bool is_blf_xl(uint32_t type, const uint8_t* at);

using BlfPayload = std::array<uint8_t, 64>;

/// Fills in all of `frame` but its time, from the `held` bytes at `at`. Its payload lies there, or in
/// `padded`. Returns the bytes from `at` to the end of the payload.
size_t fill_blf_frame(const BlfObject& object, const uint8_t* at, size_t held, BlfPayload& padded,
                      RawFrame& frame);

}  // namespace plimsoll
