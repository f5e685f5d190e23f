#include "can/capture/mdf_records.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

// Reads records with one loop per field, so that everything constant is checked once. Bytes that are written
// might alias anything, including the description of a field, so loops use copies of the description.

namespace plimsoll {
namespace {

// Calls take(i, record) until it returns false. Returns how often it was true.
template <typename Take>
size_t each_record(const MdfRecords& records, size_t count, Take&& take) {
  const uint8_t* at = records.first;
  const size_t step = records.bytes;
  for (size_t i = 0; i < count; ++i, at += step)
    if (!take(i, at)) return i;
  return count;
}

// Calls take(i, number) until it returns false. Returns how often it was true.
template <typename Take>
size_t each_number(const MdfRecords& records, size_t count, const MdfField& given, Take&& take) {
  const MdfField field = given;
  if (!field.whole || field.converted)
    return each_record(records, count,
                       [&](size_t i, const uint8_t* at) { return take(i, field.number(at)); });
  if (field.bits == 0)
    return each_record(records, count, [number = field.constant, &take](size_t i, const uint8_t*) {
      return take(i, number);
    });
  return each_record(
      records, count,
      [byte = field.byte, bit = field.bit, mask = field.mask, &take](size_t i, const uint8_t* at) {
        return take(i, load<uint64_t>(at + byte) >> bit & mask);
      });
}

size_t put_times(const MdfRecords& records, size_t count, int64_t start_ns, int64_t latest_ns, int64_t* to) {
  MdfField field = records.can.time;
  const auto put = [=](size_t i, double seconds) {
    if (!(seconds > -kMdfMaxSeconds && seconds < kMdfMaxSeconds)) return false;
    to[i] = start_ns + mdf_nanoseconds(seconds);
    return to[i] >= 0 && to[i] <= latest_ns;
  };
  const MdfConversion conversion = field.conversion;
  if (field.kind == MdfField::Kind::unsigned_le && conversion.type == MdfConversion::Type::linear) {
    field.converted = false;  // The number as stored.
    return each_number(
        records, count, field,
        [=, offset = conversion.offset, factor = conversion.factor](size_t i, uint64_t number) {
          return put(i, offset + factor * static_cast<double>(number));
        });
  }
  return each_record(records, count, [&](size_t i, const uint8_t* at) { return put(i, field.value(at)); });
}

size_t put_lengths(const MdfRecords& records, size_t count, size_t width, uint8_t* to) {
  const MdfCanGroup& can = records.can;
  const size_t held = can.kind == MdfCanGroup::Kind::remote ? 0 : std::min<size_t>(can.data_bytes, 64);
  const size_t max = std::min(held, width);
  const bool has_payload = can.kind != MdfCanGroup::Kind::remote;
  if (has_payload && can.length) {
    // A number over 8 may be the code of the length, which this loop does not handle.
    const MdfField dlc = can.dlc.value_or(MdfField());
    const auto is_code = [&dlc, first = records.first, bytes = records.bytes](size_t i, uint64_t length) {
      return length > 8 && dlc.number(first + i * bytes) == length;
    };
    return each_number(records, count, *can.length, [to, max, &is_code](size_t i, uint64_t length) {
      to[i] = static_cast<uint8_t>(length);
      return length <= max && !is_code(i, length);
    });
  }
  if (has_payload && can.dlc)
    return each_number(records, count, *can.dlc, [to, max](size_t i, uint64_t dlc) {
      to[i] = static_cast<uint8_t>(dlc);
      return dlc <= std::min<size_t>(max, 8);
    });
  if (held > width) return 0;
  std::fill_n(to, count, static_cast<uint8_t>(held));
  return count;
}

void put_payloads(const MdfRecords& records, size_t count, const uint8_t* lengths, size_t width,
                  uint8_t* to) {
  const size_t place = records.can.data_byte;
  if (width != 8 || records.can.data_bytes < 8) {
    each_record(records, count, [=](size_t i, const uint8_t* at) {
      uint8_t* const row = to + i * width;
      std::fill(std::copy_n(at + place, lengths[i], row), row + width, uint8_t{0});
      return true;
    });
    return;
  }
  static constexpr auto kKept = [] {
    std::array<uint64_t, 9> kept{};
    for (size_t bytes = 1; bytes < kept.size(); ++bytes) kept[bytes] = ~uint64_t{0} >> (64 - 8 * bytes);
    return kept;
  }();
  each_record(records, count, [=](size_t i, const uint8_t* at) {
    const uint64_t bytes = load<uint64_t>(at + place) & kKept[lengths[i]];
    std::memcpy(to + 8 * i, &bytes, 8);
    return true;
  });
}

void put_ids(const MdfRecords& records, size_t count, uint32_t* to) {
  const MdfCanGroup& can = records.can;
  if (can.id.bits == 0 && can.id.constant == 0)
    return std::fill_n(to, count, mdf_can_id(can.kind, 0, false)), void();
  each_number(records, count, can.id,
              [to, kind = can.kind, own = can.extended.has_value()](size_t i, uint64_t id) {
                const auto written = static_cast<uint32_t>(id);
                to[i] = mdf_can_id(kind, written, !own && (written & kCanExtended) != 0);
                return true;
              });
  if (!can.extended || can.kind == MdfCanGroup::Kind::error) return;
  each_number(records, count, *can.extended, [to](size_t i, uint64_t extended) {
    to[i] |= extended != 0 ? kCanExtended : 0;
    return true;
  });
}

// Appends the flags of the last `count` frames. The column stays empty if no frame has a flag.
void put_flags(const MdfRecords& records, size_t count, size_t first, FrameBatch& out) {
  const MdfCanGroup& can = records.can;
  const bool had = !out.flags.empty();
  const std::array<std::pair<const std::optional<MdfField>&, uint8_t>, 4> fields = {
      {{can.sent, kFrameSent}, {can.fd, kFrameFd}, {can.brs, kFrameBrs}, {can.esi, kFrameEsi}}};
  if (!had && std::ranges::none_of(fields, [](const auto& field) { return field.first.has_value(); })) return;
  out.flags.resize(first + count, uint8_t{0});
  uint8_t any = 0;
  for (const auto& [field, bit] : fields) {
    if (!field) continue;
    each_number(records, count, *field,
                [&any, bit = bit, to = out.flags.data() + first](size_t i, uint64_t number) {
                  const uint8_t flag = number == 1 ? bit : uint8_t{0};
                  to[i] |= flag;
                  any |= flag;
                  return true;
                });
  }
  if (!had && any == 0) out.flags.clear();
}

}  // namespace

size_t append_records(const MdfRecords& records, uint32_t channel, int64_t start_ns, int64_t latest_ns,
                      FrameBatch& out) {
  const size_t first = out.frames();
  const auto width = static_cast<size_t>(out.width);
  size_t count = records.count;
  if (records.can.channel)
    count = each_number(records, count, *records.can.channel, [channel](size_t, uint64_t number) {
      return static_cast<uint32_t>(number) == channel;
    });
  else if (channel != 0)
    return 0;
  out.extend(count);
  count = put_times(records, count, start_ns, latest_ns, out.time_ns.data() + first);
  count = put_lengths(records, count, width, out.length.data() + first);
  put_payloads(records, count, out.length.data() + first, width, out.data.data() + first * width);
  put_ids(records, count, out.can_id.data() + first);
  std::fill_n(out.label.begin() + static_cast<std::ptrdiff_t>(first), count, kUnlabelled);
  out.truncate(first + count);
  if (count == 0) return 0;
  put_flags(records, count, first, out);
  out.channel.resize(first + count, uint8_t{out.channel.back()});
  return count;
}

}  // namespace plimsoll
