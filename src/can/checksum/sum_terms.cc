#include "can/checksum/sum_terms.h"

#include <bit>
#include <optional>

namespace plimsoll {
namespace {

constexpr size_t kByte = 8;

struct Terms {
  const PayloadChecksum& sum;
  uint8_t mask = static_cast<uint8_t>((1U << sum.bits) - 1);

  bool known(size_t bit) const { return (sum.known >> (63 - bit) & 1) != 0; }
  uint8_t term(size_t bit) const { return known(bit) ? sum.terms[bit] : uint8_t{0}; }
  bool doubles(size_t bit) const {  // Whether the term of the next higher bit is twice this bit's term.
    return term(bit) != 0 && term(bit - 1) != 0 &&
           term(bit - 1) == static_cast<uint8_t>(term(bit) << 1 & mask);
  }
  bool any_known(size_t byte) const { return (sum.known >> (56 - kByte * byte) & 255) != 0; }
  bool is_added(size_t byte) const {
    for (size_t b = 0; b < kByte; ++b)
      if (term(kByte * byte + b) != 0) return true;
    return false;
  }
  // The term of a bit if it belongs to a number of `width` bits that is added with this scale.
  uint8_t scaled(uint8_t scale, size_t bit, size_t width) const {
    return static_cast<uint8_t>(scale << (width - 1 - bit % width) & mask);
  }
  bool fits(uint8_t scale, size_t byte, size_t width) const {
    for (size_t bit = kByte * byte; bit < kByte * (byte + 1); ++bit)
      if (known(bit) && term(bit) != scaled(scale, bit, width)) return false;
    return true;
  }
  // The first scale of the sum's sign for which `holds` is true.
  template <typename Holds>
  std::optional<uint8_t> find_scale(const Holds& holds) const {
    for (int twos = 0; twos < sum.bits; ++twos) {
      const auto scale = static_cast<uint8_t>(sign().value_or(1) * (1 << twos));
      if (holds(scale)) return scale;
    }
    return std::nullopt;
  }
  // The scale that all known bits of a byte have, if its numbers have `width` bits.
  std::optional<uint8_t> scale(size_t byte, size_t width) const {
    return find_scale([&](uint8_t scale) { return fits(scale, byte, width); });
  }
  // The sign of all terms if they are powers of two.
  std::optional<int> sign() const {
    for (const int sign : {1, -1}) {
      bool plain = true;
      for (size_t bit = 0; bit < sum.terms.size(); ++bit)
        plain = plain && std::popcount(static_cast<uint8_t>(sign * term(bit) & mask)) <= 1;
      if (plain) return sign;
    }
    return std::nullopt;
  }
  // Number of bytes whose halves are both known and added, if numbers have `width` bits.
  int votes(size_t width) const {
    int count = 0;
    for (size_t byte = 0; byte < kByte; ++byte) {
      const uint64_t bits = sum.known >> (56 - kByte * byte);
      if ((bits & 0xF0) != 0 && (bits & 0x0F) != 0 && is_added(byte)) count += scale(byte, width).has_value();
    }
    return count;
  }
  // Width of the numbers that are added, 8 or 4 bits; 0 if the known bits do not determine it.
  size_t width() const {
    const int bytes = votes(8);
    const int nibbles = votes(4);
    return (bytes == 0) == (nibbles == 0) ? 0 : bytes > 0 ? 8 : 4;
  }
  // The scale that all changing bytes have.
  std::optional<uint8_t> common_scale() const {
    return find_scale([&](uint8_t scale) {
      for (size_t byte = 0; byte < kByte; ++byte)
        if (any_known(byte) && !(is_added(byte) && fits(scale, byte, width()))) return false;
      return true;
    });
  }
};

}  // namespace

int numbers_in(const PayloadChecksum& sum) {
  const Terms terms{sum};
  int numbers = 0;
  for (size_t bit = 0; bit < sum.terms.size(); ++bit)
    numbers += terms.term(bit) != 0 && (bit == 0 || !terms.doubles(bit));
  return numbers;
}

bool is_plain_sum(const PayloadChecksum& sum) {
  return Terms{sum}.sign().has_value();
}

bool is_whole_sum(const PayloadChecksum& sum) {
  const Terms terms{sum};
  return terms.width() != 0 && terms.common_scale().has_value();
}

PayloadChecksum completed(const PayloadChecksum& sum) {
  const Terms terms{sum};
  const size_t width = terms.width();
  if (width == 0) return sum;
  const auto common = terms.common_scale();
  PayloadChecksum whole = sum;
  for (size_t byte = 0; byte < kByte; ++byte) {
    std::optional<uint8_t> scale = common;
    if (terms.any_known(byte)) scale = terms.is_added(byte) ? terms.scale(byte, width) : std::nullopt;
    if (!scale) continue;
    // If a sum adds only some numbers, another number may begin below the known bits.
    bool above = common.has_value();
    for (size_t bit = kByte * (byte + 1); bit-- > kByte * byte;) {
      const uint64_t at = uint64_t{1} << (63 - bit);
      above = above || terms.known(bit);
      if (!above || (at & sum.field()) != 0) continue;
      whole.terms[bit] = terms.scaled(*scale, bit, width);
      whole.known |= at;
    }
  }
  return whole;
}

}  // namespace plimsoll
