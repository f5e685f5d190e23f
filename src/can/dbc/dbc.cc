#include "can/dbc/dbc.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/shown.h"
#include "can/dbc/j1939.h"
#include "can/frames/frames.h"

namespace plimsoll {

std::optional<int64_t> DbcSignal::raw(const uint8_t* payload, int64_t bytes) const {
  uint64_t value = 0;
  if (intel) {
    if (start + length > bytes * 8) return std::nullopt;
    for (int i = length - 1; i >= 0; --i) {
      const int bit = start + i;
      value = value << 1 | (payload[bit / 8] >> bit % 8 & 1U);
    }
  } else {
    // Bit 7 of a byte is sent first: a signal extends down to bit 0 and continues at bit 7 of the next byte.
    int bit = start;
    for (int i = 0; i < length; ++i) {
      if (bit / 8 >= bytes) return std::nullopt;
      value = value << 1 | (payload[bit / 8] >> bit % 8 & 1U);
      bit = bit % 8 == 0 ? bit + 15 : bit - 1;
    }
  }
  if (is_signed && length < 64 && (value >> (length - 1) & 1U) != 0) value |= ~uint64_t{0} << length;
  return std::bit_cast<int64_t>(value);
}

double DbcSignal::physical(int64_t raw) const {
  double value =
      is_signed || raw >= 0 ? static_cast<double>(raw) : static_cast<double>(static_cast<uint64_t>(raw));
  if (is_float)
    value = length == 32 ? static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(raw)))
                         : std::bit_cast<double>(raw);
  return factor * value + offset;
}

// The highest raw values mean "no value": in signals of whole bytes, those whose highest byte is 0xFB or
// more; in other signals, the last two.
bool DbcSignal::is_no_value(int64_t raw) const {
  if (is_float || length < 2) return false;
  const int bits = is_signed ? length - 1 : length;
  const uint64_t highest = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  if (is_signed) return raw >= 0 && static_cast<uint64_t>(raw) + 1 >= highest;
  const auto value = static_cast<uint64_t>(raw);
  return bits % 8 == 0 ? value >> (bits - 8) >= 0xFB : value + 1 >= highest;
}

std::optional<int64_t> DbcPayload::raw(const DbcSignal& signal) {
  if (signal.multiplexor >= 0) {
    if (signal.multiplexor != multiplexor_) {
      value_ = raw(message_.signals[static_cast<size_t>(signal.multiplexor)]);
      multiplexor_ = signal.multiplexor;
    }
    const auto has_value = [&](const DbcRange& range) {
      return *value_ >= range.first && *value_ <= range.last;
    };
    if (!value_ || std::ranges::none_of(signal.multiplexor_values, has_value)) return std::nullopt;
  }
  return signal.raw(payload_, bytes_);
}

std::string DbcRemark::text() const {
  return fmt::format("{}: found '{}', expected {}; {}", line, found, expected, done);
}

void DbcRemarks::add(int64_t line, std::string_view found, std::string expected, std::string done) {
  constexpr size_t kMaxShown = 72;
  if (static_cast<size_t>(count_++) < kMaxKept)
    kept_.push_back({line, shown(found, kMaxShown), std::move(expected), std::move(done)});
}

void DbcRemarks::sort() {
  std::ranges::stable_sort(kept_, {}, &DbcRemark::line);
}

Dbc::Dbc(Messages messages, DbcRemarks remarks, Charge charge)
    : charge_(std::move(charge)), messages_(std::move(messages)), remarks_(std::move(remarks)) {
  for (const auto& [id, message] : messages_)
    if (message.is_group) groups_[j1939_id(id)->pgn].push_back(id);
}

const Dbc::Messages::value_type* Dbc::find(uint32_t can_id) const {
  constexpr uint8_t kNullAddress = 254;
  const auto exact = messages_.find(can_id & ~kCanRemote);
  if (exact != messages_.end()) return &*exact;
  const auto parts = j1939_id(can_id);
  const auto group = parts ? groups_.find(parts->pgn) : groups_.end();
  if (group == groups_.end()) return nullptr;
  const std::vector<uint32_t>& ids = group->second;
  const auto of_source = [&](uint8_t source) {
    return std::ranges::find_if(ids, [&](uint32_t id) { return (id & 0xFF) == source; });
  };
  auto best = of_source(parts->source);
  if (best == ids.end()) best = of_source(kNullAddress);
  return &*messages_.find(best == ids.end() ? ids.front() : *best);
}

std::string Dbc::name_of(uint32_t can_id) const {
  const auto* const found = find(can_id);
  return found == nullptr ? "" : found->second.name;
}

}  // namespace plimsoll
