#pragma once

#include "can/checksum/payload_checksum.h"

namespace plimsoll {

/// Returns how many numbers a sum adds. Terms of adjacent bits that double from the lower to the higher bit
/// belong to one number.
int numbers_in(const PayloadChecksum& sum);

/// Whether each term is a power of two and all have one sign. This is true for sums of bytes, nibbles and
/// counters, and false for accidental equations.
bool is_plain_sum(const PayloadChecksum& sum);

/// Whether the sum adds all bytes that change, or all nibbles, and each in the same way.
bool is_whole_sum(const PayloadChecksum& sum);

/// The sum completed by terms of unknown bits, as far as the known bits determine whether it adds bytes or
/// nibbles: the rest of a byte is added like its known bits, and a byte without known bits like all others.
/// This is a guess that the caller must compare with all payloads.
PayloadChecksum completed(const PayloadChecksum& sum);

}  // namespace plimsoll
