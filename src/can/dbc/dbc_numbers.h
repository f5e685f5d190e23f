#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace plimsoll {

/// Bytes of an entry of a std::map, without the heap memory of its key and value.
template <class Map>
constexpr int64_t kMapEntryBytes = static_cast<int64_t>(4 * sizeof(void*) +
                                                        sizeof(typename Map::value_type)) +
                                   16;

/// The whole text as an integer; none if it is not an integer or does not fit.
std::optional<int64_t> dbc_integer(std::string_view text);
/// The whole text as a number; none if it is not a number. The result may be infinite, also for a number that
/// is too large for a double, or NaN.
std::optional<double> dbc_number(std::string_view text);
/// The can_id of an ID as a DBC writes it, where bit 31 marks extended IDs. An ID of more than 11 bits is
/// extended in any case. The text may be hexadecimal with a leading 0x. None if it is not a number or has
/// more than 29 bits.
std::optional<uint32_t> dbc_can_id(std::string_view text);
/// Whether an ID has more than 11 bits and lacks bit 31.
bool lacks_extended_bit(std::string_view text);

}  // namespace plimsoll
