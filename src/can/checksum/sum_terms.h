#pragma once

#include "can/checksum/payload_checksum.h"

namespace plimsoll {

/// What a sum is made of: terms of bits next to each other that double from the lower to the higher one are
/// one number.
int numbers_in(const PayloadChecksum& sum);

/// Whether each term is a power of two, and all have one sign: what sums of bytes, nibbles and counters have,
/// and accidental equations do not.
bool is_plain_sum(const PayloadChecksum& sum);

/// Whether it adds all bytes that change, or all nibbles, and each alike.
bool is_whole_sum(const PayloadChecksum& sum);

/// The same sum with the terms of bits that are not known, as far as the known ones tell whether it adds
/// bytes or nibbles: then the rest of a byte is added as its known bits are, and a byte without any as all
/// others are. A guess: it is to be compared with all payloads.
PayloadChecksum completed(const PayloadChecksum& sum);

}  // namespace plimsoll
