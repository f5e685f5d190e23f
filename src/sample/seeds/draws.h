#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/philox.h"

namespace plimsoll {

/// Returns a 64-bit key for all draws for one item (a seed node, a start, an edge) in an epoch. Keys of two
/// items are equal only by chance, with a probability of about 2^-64.
constexpr uint64_t item_key(uint64_t seed, Purpose purpose, uint32_t epoch, int64_t item) {
  const auto id = static_cast<uint64_t>(item);
  const Philox::Counter bits = Philox(seed)({static_cast<uint32_t>(id), static_cast<uint32_t>(id >> 32),
                                             epoch, static_cast<uint32_t>(purpose) << 16});
  return uint64_t{bits[0]} << 32 | bits[1];
}

/// Returns a key for all draws for an item of this type and time, whose item_key() is `key`.
constexpr uint64_t typed_key(uint64_t key, Purpose purpose, uint32_t type, int64_t time) {
  constexpr uint32_t kLayer = 65535;  // item_key() and Draws use lower values.
  const auto id = static_cast<uint64_t>(time);
  const Philox::Counter bits = Philox(key)({static_cast<uint32_t>(id), static_cast<uint32_t>(id >> 32), type,
                                            static_cast<uint32_t>(purpose) << 16 | kLayer});
  return uint64_t{bits[0]} << 32 | bits[1];
}

/// A stream of random numbers that depends only on (key, purpose, part, stream).
class Draws {
 public:
  static constexpr uint32_t kStreams = 65534;

  /// `stream` is below kStreams.
  Draws(uint64_t key, Purpose purpose, uint64_t part, uint32_t stream = 0)
      : philox_(key),
        counter_{0, static_cast<uint32_t>(part), static_cast<uint32_t>(part >> 32),
                 static_cast<uint32_t>(purpose) << 16 | (stream + 1)} {}

  /// Moves to the position after the first `numbers` numbers of bits(), counted from the start of the stream.
  void skip(uint32_t numbers) {
    counter_[0] = numbers / four_.size();
    next_ = four_.size();
    for (uint32_t left = numbers % four_.size(); left > 0; --left) bits();
  }
  /// Returns the position in the stream: how many numbers of bits() precede the next one.
  uint32_t drawn() const {
    return counter_[0] * static_cast<uint32_t>(four_.size()) - static_cast<uint32_t>(four_.size() - next_);
  }

  uint32_t bits() {
    if (next_ == four_.size()) {
      four_ = philox_(counter_);
      ++counter_[0];
      next_ = 0;
    }
    return four_[next_++];
  }

  /// Draws uniformly, without bias, from 0 .. n-1; n must be above 0. Below 2^32 by Lemire, "Fast random
  /// integer generation in an interval", ACM TOMACS 29(1), 2019; above it by rejection.
  uint64_t below(uint64_t n) {
    if (n > UINT32_MAX) {
      const uint64_t mask = ~uint64_t{0} >> std::countl_zero(n - 1);
      for (;;) {
        const uint64_t high = bits();
        const uint64_t number = (high << 32 | bits()) & mask;
        if (number < n) return number;
      }
    }
    const auto range = static_cast<uint32_t>(n);
    uint64_t product = uint64_t{bits()} * range;
    if (static_cast<uint32_t>(product) < range) {
      const uint32_t unfair = (0U - range) % range;
      while (static_cast<uint32_t>(product) < unfair) product = uint64_t{bits()} * range;
    }
    return product >> 32;
  }

  /// Draws uniformly from (0, 1) with 52 bits.
  double uniform() {
    const uint64_t high = bits();
    return (static_cast<double>((high << 32 | bits()) >> 12) + 0.5) * 0x1p-52;
  }

 private:
  Philox philox_;
  Philox::Counter counter_;
  Philox::Counter four_{};
  size_t next_ = 4;
};

}  // namespace plimsoll
