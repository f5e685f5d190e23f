#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "can/checksum/payload_checksum.h"
#include "can/checksum/residue_system.h"
#include "memory/vector.h"

namespace plimsoll {

/// Finds the checksum of one ID from its benign payloads, which come twice: see() learns which bits change,
/// solve() what equations hold. What is found held for all of them. About 10 KB, whatever the traffic.
class ChecksumSearch {
 public:
  /// A CRC is found if so many bits came out right that chance would have had to guess, in units of bits: of
  /// 2^17 that are tried, one in 2^23 would.
  static constexpr int kCrcBits = 40;
  /// Different payloads whose field a sum of all that changes has foretold, at least; and a sum of a part of
  /// it, of three numbers, since two and their sum may be signals that belong together.
  static constexpr int64_t kFewestForetold = 24;
  static constexpr int64_t kFewestForetoldByPart = 128;
  /// Values that the field takes in them: what takes fewer is a state, not a checksum.
  static constexpr size_t kFewestValues = 12;

  void see(uint64_t payload);
  void solve(uint64_t payload);
  /// Adds what it found, the likeliest first: each is to be compared with all payloads before it is believed.
  /// `id`: index of the ID.
  void offer(int32_t id, Vector<PayloadChecksum, Tag::columns>& to) const;

 private:
  /// Part of a nibble, from its lowest bit that changes up: a number that a sum may contain.
  struct Unit {
    int nibble = 0;
    int shift = 0;  ///< bits of the nibble below it
    uint8_t value(uint64_t payload) const {
      return static_cast<uint8_t>((payload >> (60 - 4 * nibble) & 15) >> shift);
    }
  };
  /// A field that may hold a sum of the units outside of it.
  struct Sum {
    uint8_t first_bit = 0;
    uint8_t bits = 0;
    ResidueSystem system{8};
    int64_t foretold = 0;
    std::bitset<256> values = {};
  };

  uint64_t varying() const { return ones_ & zeros_; }
  void begin();
  std::optional<PayloadChecksum> crc(int32_t id) const;
  std::optional<PayloadChecksum> sum(const Sum& of, int32_t id) const;

  // Of see().
  uint64_t base_ = 0;  // the first payload
  bool any_ = false;
  uint64_t ones_ = 0;   // bits that were ever set
  uint64_t zeros_ = 0;  // or clear

  // Of solve(). Payloads less the first, exclusively or, by their highest bit: what is affine holds for all
  // payloads if it does for these.
  bool begun_ = false;
  std::array<uint64_t, 64> basis_{};
  std::bitset<4096> hashes_;  // of payloads
  size_t units_ = 0;
  std::array<Unit, 16> unit_{};
  size_t sums_ = 0;
  std::array<Sum, 24> sum_{};  // of bytes, then of nibbles
};

}  // namespace plimsoll
