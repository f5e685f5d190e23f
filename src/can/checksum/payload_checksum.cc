#include "can/checksum/payload_checksum.h"

#include <bit>

namespace plimsoll {

uint8_t PayloadChecksum::expected(uint64_t payload) const {
  uint8_t value = start;
  for (uint64_t rest = payload & known; rest != 0; rest &= rest - 1) {
    const uint8_t term = terms[static_cast<size_t>(63 - std::countr_zero(rest))];
    value = static_cast<uint8_t>(rule == Rule::crc ? value ^ term : value + term);
  }
  return static_cast<uint8_t>(value & ((1U << bits) - 1));
}

bool PayloadChecksum::is_broken(uint64_t payload) const {
  if (((payload ^ constant) & ~known & ~field()) != 0) return false;
  return expected(payload) != static_cast<uint8_t>((payload & field()) >> (64 - first_bit - bits));
}

}  // namespace plimsoll
