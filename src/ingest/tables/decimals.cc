#include "ingest/tables/decimals.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <string>

#include "ingest/tables/arrow_buffers.h"

namespace plimsoll {
namespace {

__extension__ typedef __int128 Wide;           // NOLINT(modernize-use-using)
__extension__ typedef unsigned __int128 Bits;  // NOLINT(modernize-use-using)

// Returns the double nearest to the digits of a whole number times 10^-scale.
double scaled(const std::string& digits, int scale) {
  const std::string text = fmt::format("{}e{}", digits, -int64_t{scale});
  double number = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc::result_out_of_range)
    number = scale > 0 ? 0 : std::numeric_limits<double>::infinity() * (text[0] == '-' ? -1 : 1);
  return number;
}

// Returns value times 10^-scale. Up to 2^53, the number and the power of ten are exact, and the division
// rounds only once.
double decimal(Wide value, int scale) {
  constexpr double kTens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  constexpr Wide kExact = Wide{1} << 53;
  if (scale >= 0 && scale <= 22 && value > -kExact && value < kExact)
    return static_cast<double>(value) / kTens[scale];
  return scaled(fmt::format("{}", value), scale);
}

// Returns the digits of 256 bits, the lowest 64 first, in two's complement.
std::string digits_of(const std::byte* at) {
  constexpr uint64_t kChunk = 1000000000000000000;  // 10^18
  uint64_t limbs[4];
  for (size_t i = 0; i < 4; ++i) limbs[i] = load<uint64_t>(at + 8 * i);
  const bool is_negative = limbs[3] >> 63 != 0;
  if (is_negative) {
    bool carry = true;
    for (uint64_t& limb : limbs) {
      limb = ~limb + (carry ? 1 : 0);
      carry = carry && limb == 0;
    }
  }
  std::string digits;
  bool any = true;
  while (any) {
    Bits rest = 0;
    any = false;
    for (size_t i = 4; i-- > 0;) {
      const Bits part = rest << 64 | limbs[i];
      limbs[i] = static_cast<uint64_t>(part / kChunk);
      rest = part % kChunk;
      any = any || limbs[i] != 0;
    }
    const auto chunk = static_cast<uint64_t>(rest);
    digits.insert(0, any ? fmt::format("{:018}", chunk) : fmt::format("{}", chunk));
  }
  return is_negative ? "-" + digits : digits;
}

}  // namespace

void decode_decimals(const std::byte* data, const ArrowType& type, Values& values) {
  for (size_t row = 0; row < values.rows; ++row) {
    const std::byte* const at = data + row * static_cast<size_t>(type.width);
    values.reals[row] = type.width == 4    ? decimal(load<int32_t>(at), type.scale)
                        : type.width == 8  ? decimal(load<int64_t>(at), type.scale)
                        : type.width == 16 ? decimal(load<Wide>(at), type.scale)
                                           : scaled(digits_of(at), type.scale);
  }
}

}  // namespace plimsoll
