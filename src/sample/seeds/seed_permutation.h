#pragma once

#include <bit>
#include <cstdint>

#include "base/philox.h"

namespace plimsoll {

/// A random order of `count` items for an epoch, without a list of them: a Feistel network of four rounds
/// over the next even power of two, iterated until it falls below `count` (Black and Rogaway, "Ciphers with
/// arbitrary finite domains", CT-RSA 2002). It depends only on (seed, epoch). Thread-safe.
class SeedPermutation {
 public:
  SeedPermutation(uint64_t seed, uint32_t epoch, int64_t count)
      : philox_(seed), epoch_(epoch), count_(static_cast<uint64_t>(count)) {
    const int bits = count <= 1 ? 0 : 64 - std::countl_zero(count_ - 1);
    half_bits_ = (bits + 1) / 2;
  }

  /// Returns the item at `place`, both 0 .. count-1.
  int64_t operator()(int64_t place) const {
    if (half_bits_ == 0) return place;
    auto at = static_cast<uint64_t>(place);
    do at = encrypt(at);
    while (at >= count_);
    return static_cast<int64_t>(at);
  }

 private:
  uint64_t encrypt(uint64_t value) const {
    const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
    uint64_t left = value >> half_bits_;
    uint64_t right = value & mask;
    for (uint32_t round = 0; round < 4; ++round) {
      // Halves have at most 32 bits. The argument `layer` separates these numbers from those of other orders.
      const Philox::Counter bits =
          philox_(philox_counter(Purpose::permutation, 1, epoch_, static_cast<uint32_t>(right), round));
      const uint64_t next = left ^ (bits[0] & mask);
      left = right;
      right = next;
    }
    return left << half_bits_ | right;
  }

  Philox philox_;
  uint32_t epoch_;
  uint64_t count_;
  int half_bits_ = 0;
};

}  // namespace plimsoll
