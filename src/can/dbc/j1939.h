#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "can/frames/frames.h"

namespace plimsoll {

/// The parts of a 29-bit ID according to SAE J1939-21, which NMEA 2000 shares.
struct J1939Id {
  uint8_t priority = 0;  ///< Priority, 0 to 7.
  uint32_t pgn = 0;      ///< Parameter group number, 18 bits.
  uint8_t source = 0;    ///< Source address.
  /// Destination address of a group that is sent to one address (PDU1).
  std::optional<uint8_t> destination = {};
};

inline constexpr uint32_t kJ1939Priority = 7U << 26;  ///< Priority bits of a can_id.

/// The parts of a can_id; none for an 11-bit ID and an error frame.
inline std::optional<J1939Id> j1939_id(uint32_t can_id) {
  // First PDU format in which the next byte is part of the group number.
  constexpr uint32_t kFirstPdu2 = 240;
  if ((can_id & kCanExtended) == 0 || (can_id & kCanError) != 0) return std::nullopt;
  const uint32_t format = can_id >> 16 & 0xFF;
  const auto specific = static_cast<uint8_t>(can_id >> 8);
  J1939Id id{.priority = static_cast<uint8_t>(can_id >> 26 & 7),
             .pgn = can_id >> 8 & 0x3FF00,
             .source = static_cast<uint8_t>(can_id)};
  if (format < kFirstPdu2)
    id.destination = specific;
  else
    id.pgn |= specific;
  return id;
}

/// The name of a parameter group of the protocol itself, by number: requests, transport, addresses and
/// diagnostic messages. Empty for groups of applications, which a DBC names.
std::string_view j1939_group_name(uint32_t pgn);

}  // namespace plimsoll
