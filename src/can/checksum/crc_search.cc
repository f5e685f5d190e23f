#include "can/checksum/crc_search.h"

#include <algorithm>
#include <bit>

#include "can/checksum/payload_checksum.h"

namespace plimsoll {
namespace {

constexpr int kMinShift = -6;  // A payload has at least two bytes.
constexpr int kMaxShift = 2;   // A two-byte identifier, as in AUTOSAR's profiles, may follow the payload.

// x^(bits + e - kBack) modulo the polynomial, indexed by e: the contribution of a bit that is followed by e -
// kBack other bits.
struct Powers {
  static constexpr int kBack = -kMinShift * 8;
  std::array<uint8_t, kBack + PayloadChecksum::kPayload + 8 * kMaxShift> values;

  Powers(int bits, uint8_t polynomial) {
    const auto whole = static_cast<uint32_t>(1U << bits | polynomial);
    uint32_t value = polynomial;
    for (int e = 0; e < kBack; ++e) value = (value & 1 ? value ^ whole : value) >> 1;
    for (uint8_t& power : values) {
      power = static_cast<uint8_t>(value);
      value <<= 1;
      if ((value >> bits) != 0) value ^= whole;
    }
  }
};

uint8_t reversed(uint8_t value, int bits) {
  uint8_t back = 0;
  for (int b = 0; b < bits; ++b) back = static_cast<uint8_t>(back << 1 | (value >> b & 1));
  return back;
}

struct Order {
  bool reflected;
  bool backwards;
  bool over_field;
};

constexpr std::array<Order, 8> kOrders = {{{false, false, false},
                                           {false, false, true},
                                           {false, true, false},
                                           {false, true, true},
                                           {true, false, false},
                                           {true, false, true},
                                           {true, true, false},
                                           {true, true, true}}};

// For each bit, the number of payload bits that come after it; arbitrary for bits of the field.
std::array<int, PayloadChecksum::kPayload> places(int bits, int first_bit, const Order& order) {
  const int units = PayloadChecksum::kPayload / bits;
  std::array<int, PayloadChecksum::kPayload> after{};
  int left = order.over_field ? PayloadChecksum::kPayload : PayloadChecksum::kPayload - bits;
  for (int n = 0; n < units; ++n) {
    const int first = (order.backwards ? units - 1 - n : n) * bits;
    if (first == first_bit && !order.over_field) continue;
    for (int b = 0; b < bits; ++b) {
      const int bit = first + (order.reflected ? bits - 1 - b : b);
      after[static_cast<size_t>(bit)] = --left;
    }
  }
  return after;
}

}  // namespace

std::optional<Crc> find_crc(int bits, int first_bit, std::span<const uint64_t> differences) {
  const int below = PayloadChecksum::kPayload - first_bit - bits;
  const uint64_t field = ((uint64_t{1} << bits) - 1) << below;
  std::array<std::array<int, PayloadChecksum::kPayload>, kOrders.size()> after;
  for (size_t o = 0; o < kOrders.size(); ++o) after[o] = places(bits, first_bit, kOrders[o]);
  for (unsigned polynomial = 1; polynomial < 1U << bits; polynomial += 2) {
    const Powers powers(bits, static_cast<uint8_t>(polynomial));
    for (size_t o = 0; o < kOrders.size(); ++o)
      for (int shift = kMinShift; shift <= kMaxShift; ++shift) {
        const auto term = [&](int bit) {
          const int power = Powers::kBack + shift * bits + after[o][static_cast<size_t>(bit)];
          return powers.values[static_cast<size_t>(power)];
        };
        const auto has_it = [&](uint64_t difference) {
          auto value = static_cast<uint8_t>((difference & field) >> below);
          if (kOrders[o].reflected) value = reversed(value, bits);
          for (uint64_t rest = difference & ~field; rest != 0; rest &= rest - 1)
            value ^= term(PayloadChecksum::kPayload - 1 - std::countr_zero(rest));
          return value == 0;
        };
        if (!std::ranges::all_of(differences, has_it)) continue;
        Crc crc{static_cast<uint8_t>(polynomial), kOrders[o].reflected, kOrders[o].backwards,
                kOrders[o].over_field, shift};
        for (int bit = 0; bit < PayloadChecksum::kPayload; ++bit)
          if ((field >> (PayloadChecksum::kPayload - 1 - bit) & 1) == 0)
            crc.terms[static_cast<size_t>(bit)] = crc.reflected ? reversed(term(bit), bits) : term(bit);
        return crc;
      }
  }
  return std::nullopt;
}

}  // namespace plimsoll
