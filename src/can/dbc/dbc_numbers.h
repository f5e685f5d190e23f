#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace plimsoll {

/// Bytes of an entry of a std::map, without what it holds on the heap.
template <class Map>
constexpr int64_t kMapEntryBytes = static_cast<int64_t>(4 * sizeof(void*) +
                                                        sizeof(typename Map::value_type)) +
                                   16;

/// The whole text as a number; none if it is none, or if it does not fit.
std::optional<int64_t> dbc_integer(std::string_view text);
/// Likewise; may be infinite or no number. One that is too large for a double is infinite.
std::optional<double> dbc_number(std::string_view text);
/// The can_id of an ID as a DBC writes it, bit 31 being that of extended IDs. One of more than 11 bits is
/// extended in any case. May be hexadecimal, with 0x in front. None if it is no number, or has more than 29
/// bits.
std::optional<uint32_t> dbc_can_id(std::string_view text);
/// Whether an ID has more than 11 bits and lacks bit 31.
bool lacks_extended_bit(std::string_view text);

}  // namespace plimsoll
