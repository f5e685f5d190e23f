#include "can/checksum/checksum_search.h"

#include <algorithm>
#include <bit>
#include <span>
#include <tuple>

#include "can/checksum/crc_search.h"
#include "can/checksum/sum_terms.h"

namespace plimsoll {
namespace {

constexpr int kUnits = 16;

uint64_t field_of(int first_bit, int bits) {
  return ((uint64_t{1} << bits) - 1) << (PayloadChecksum::kPayload - first_bit - bits);
}

uint8_t value_of(uint64_t payload, int first_bit, int bits) {
  return static_cast<uint8_t>((payload & field_of(first_bit, bits)) >>
                              (PayloadChecksum::kPayload - first_bit - bits));
}

uint64_t bit_at(size_t bit) {
  return uint64_t{1} << (PayloadChecksum::kPayload - 1 - bit);
}

}  // namespace

void ChecksumSearch::see(uint64_t payload) {
  if (!any_) base_ = payload;
  any_ = true;
  ones_ |= payload;
  zeros_ |= ~payload;
}

void ChecksumSearch::begin() {
  started_ = true;
  for (int nibble = 0; nibble < kUnits; ++nibble) {
    const uint64_t changes = varying() >> (60 - 4 * nibble) & 15;
    if (changes != 0) unit_[units_++] = {nibble, std::countr_zero(changes)};
  }
  const auto offer = [&](int first_bit, int bits) {
    const uint64_t changes = varying() & field_of(first_bit, bits);
    if (std::popcount(changes) >= 4 && (changes & bit_at(static_cast<size_t>(first_bit + bits - 1))) != 0)
      sum_[sums_++] = {static_cast<uint8_t>(first_bit), static_cast<uint8_t>(bits), ResidueSystem(bits)};
  };
  for (int bit = 0; bit < PayloadChecksum::kPayload; bit += 8) offer(bit, 8);
  for (int bit = 0; bit < PayloadChecksum::kPayload; bit += 4) offer(bit, 4);
}

void ChecksumSearch::solve(uint64_t payload) {
  if (!started_) begin();
  const size_t hash = payload * 0x9E3779B97F4A7C15 >> 52;  // Source: Knuth, TAOCP 3, section 6.4.
  const bool is_new = !hashes_.test(hash);
  hashes_.set(hash);
  uint64_t difference = payload ^ base_;
  while (difference != 0) {
    uint64_t& line = basis_[static_cast<size_t>(std::countl_zero(difference))];
    if (line == 0) {
      line = difference;
      break;
    }
    difference ^= line;
  }
  for (Sum& sum : std::span(sum_).first(sums_)) {
    if (!sum.system.solvable()) continue;
    ResidueSystem::Row row{};
    for (size_t u = 0; u < units_; ++u) {
      if ((field_of(4 * unit_[u].nibble, 4) & field_of(sum.first_bit, sum.bits)) != 0) continue;
      row[u] = static_cast<uint8_t>(unit_[u].value(payload) - unit_[u].value(base_));
    }
    const uint8_t value = value_of(payload, sum.first_bit, sum.bits);
    const auto kind =
        sum.system.add(row, static_cast<uint8_t>(value - value_of(base_, sum.first_bit, sum.bits)));
    if (kind != ResidueSystem::Kind::follows || !is_new) continue;
    ++sum.predicted;
    sum.values.set(value);
  }
}

std::optional<PayloadChecksum> ChecksumSearch::crc(int32_t id) const {
  std::array<uint64_t, PayloadChecksum::kPayload> lines = basis_;
  const auto rank = PayloadChecksum::kPayload - std::ranges::count(lines, uint64_t{0});
  // std::ranges is not used because clang 14, which builds the fuzzing programs, cannot compile its subrange.
  std::stable_partition(lines.begin(), lines.end(), [](uint64_t line) { return line != 0; });
  const auto differences = std::span(lines).first(static_cast<size_t>(rank));
  const auto try_field = [&](int first_bit, int bits) -> std::optional<PayloadChecksum> {
    const uint64_t field = field_of(first_bit, bits);
    // If payloads differ only in the field, none of them has a checksum.
    if ((varying() & field) != field || rank * bits < kCrcBits) return std::nullopt;
    int changing = 0;  // Number of other units that change.
    for (int unit = 0; unit < PayloadChecksum::kPayload; unit += bits)
      changing += unit != first_bit && (varying() & field_of(unit, bits)) != 0;
    if (changing < 2) return std::nullopt;  // The field may be a copy of the only other unit.
    const auto crc = find_crc(bits, first_bit, differences);
    if (!crc) return std::nullopt;
    PayloadChecksum found{.id = id,
                          .first_bit = static_cast<uint8_t>(first_bit),
                          .bits = static_cast<uint8_t>(bits),
                          .rule = PayloadChecksum::Rule::crc,
                          .known = ~field,
                          .terms = crc->terms};
    found.start = static_cast<uint8_t>(value_of(base_, first_bit, bits) ^ found.expected(base_));
    return found;
  };
  for (int bit = 0; bit < PayloadChecksum::kPayload; bit += 8)
    if (const auto found = try_field(bit, 8)) return found;
  for (int bit = 0; bit < PayloadChecksum::kPayload; bit += 4)
    if (const auto found = try_field(bit, 4)) return found;
  return std::nullopt;
}

std::optional<PayloadChecksum> ChecksumSearch::sum(const Sum& candidate, int32_t id) const {
  if (!candidate.system.solvable() || candidate.values.count() < kMinValues) return std::nullopt;
  const auto mask = static_cast<uint8_t>((1U << candidate.bits) - 1);
  const uint64_t field = field_of(candidate.first_bit, candidate.bits);
  PayloadChecksum found{
      .id = id, .first_bit = candidate.first_bit, .bits = candidate.bits, .rule = PayloadChecksum::Rule::sum};
  const auto term = [&](size_t bit) -> uint8_t& { return found.terms[bit]; };
  for (size_t u = 0; u < units_; ++u) {
    const auto coefficient = candidate.system.coefficient(static_cast<int>(u));
    const auto last = static_cast<size_t>(4 * unit_[u].nibble + 3 - unit_[u].shift);
    if ((bit_at(last) & field) != 0 || !coefficient) continue;
    for (int b = 0; b < 4 - unit_[u].shift; ++b) {
      term(last - static_cast<size_t>(b)) = static_cast<uint8_t>(*coefficient << b & mask);
      found.known |= bit_at(last - static_cast<size_t>(b));
    }
  }
  found.constant = base_;
  return is_plain_sum(found) ? std::optional(found) : std::nullopt;
}

void ChecksumSearch::offer(int32_t id, Vector<PayloadChecksum, Tag::columns>& to) const {
  if (!started_) return;
  if (const auto checksum = crc(id)) to.push_back(*checksum);
  const auto put = [&](PayloadChecksum checksum) {
    checksum.start =
        static_cast<uint8_t>(value_of(base_, checksum.first_bit, checksum.bits) - checksum.expected(base_));
    to.push_back(checksum);
  };
  std::array<const Sum*, 24> sums{};
  for (size_t k = 0; k < sums_; ++k) sums[k] = &sum_[k];
  std::ranges::stable_sort(std::span(sums).first(sums_), [](const Sum* a, const Sum* b) {
    return std::tuple(a->bits, a->values.count()) > std::tuple(b->bits, b->values.count());
  });
  for (const Sum* candidate : std::span(sums).first(sums_)) {
    const auto found = sum(*candidate, id);
    if (!found) continue;
    const int numbers = numbers_in(*found);
    const bool as_whole = is_whole_sum(*found) && numbers >= 2 && candidate->predicted >= kMinPredicted;
    const bool as_part = numbers >= 3 && candidate->predicted >= kMinPredictedByPart;
    if (as_whole || as_part) put(completed(*found));
    if (as_part) put(*found);
  }
}

}  // namespace plimsoll
