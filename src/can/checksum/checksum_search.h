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

/// Finds the checksum of one ID from its benign payloads, which the caller passes twice: all of them to
/// see(), which learns which bits change, then all of them to solve(), which learns which equations hold.
/// offer() proposes checksums. Uses about 10 KB, whatever the traffic. Not thread-safe.
class ChecksumSearch {
 public:
  /// Minimum number of check bits that a CRC must predict: the rank of the differences times the bits of the
  /// check. Of the 2^17 CRCs that are tried, one matches by chance with probability 2^-23.
  static constexpr int kCrcBits = 40;
  /// Minimum number of different payloads whose field was predicted by a sum of all bits that change.
  /// kMinPredictedByPart is for a sum that covers only some of these bits. Such a sum must have three or more
  /// numbers, because two numbers and their sum may be signals that belong together.
  static constexpr int64_t kMinPredicted = 24;
  static constexpr int64_t kMinPredictedByPart = 128;
  /// Minimum number of different values of the field in these payloads. A field with fewer is a state and not
  /// a checksum.
  static constexpr size_t kMinValues = 12;

  void see(uint64_t payload);
  void solve(uint64_t payload);
  /// Appends the checksums that were found to `to`, the likeliest first. Some have guessed terms
  /// (completed()), so the caller must compare each of them with all payloads. `id` is the index of the ID.
  void offer(int32_t id, Vector<PayloadChecksum, Tag::columns>& to) const;

 private:
  /// A number that a sum may contain: the part of a nibble from its lowest changing bit up.
  struct Unit {
    int nibble = 0;
    int shift = 0;  ///< Bits of the nibble below the unit.
    uint8_t value(uint64_t payload) const {
      return static_cast<uint8_t>((payload >> (60 - 4 * nibble) & 15) >> shift);
    }
  };
  /// A field that may hold a sum of the units outside of it.
  struct Sum {
    uint8_t first_bit = 0;
    uint8_t bits = 0;
    ResidueSystem system{8};
    int64_t predicted = 0;
    std::bitset<256> values = {};
  };

  uint64_t varying() const { return ones_ & zeros_; }
  void begin();
  std::optional<PayloadChecksum> crc(int32_t id) const;
  std::optional<PayloadChecksum> sum(const Sum& candidate, int32_t id) const;

  // State of see().
  uint64_t base_ = 0;  // The first payload.
  bool any_ = false;
  uint64_t ones_ = 0;   // Bits that were ever set.
  uint64_t zeros_ = 0;  // Bits that were ever clear.

  // State of solve(). The basis of the differences (exclusive or) between the first payload and the others,
  // by highest bit: an affine relation holds for all payloads if it holds for the basis.
  bool started_ = false;
  std::array<uint64_t, 64> basis_{};
  std::bitset<4096> hashes_;  // Hashes of payloads.
  size_t units_ = 0;
  std::array<Unit, 16> unit_{};
  size_t sums_ = 0;
  std::array<Sum, 24> sum_{};  // Bytes come first, then nibbles.
};

}  // namespace plimsoll
