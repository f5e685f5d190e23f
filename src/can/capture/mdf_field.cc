#include "can/capture/mdf_field.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace plimsoll {
namespace {

constexpr size_t kConversionHead = 24;  // Bytes of a CC block before its values.
constexpr size_t kRational = 6;         // Values of a rational function.

MdfConversion conversion_of(const MdfFile& file, const MdfChannel& channel) {
  MdfConversion conversion;
  if (channel.conversion == 0) return conversion;
  const MdfBlock block = file.block(channel.conversion, "##CC");
  if (block.data.size() < kConversionHead)
    file.refuse(block.at, "a short conversion block", "24 bytes of it");
  const uint8_t type = block.data[0];
  const size_t available = (block.data.size() - kConversionHead) / 8;
  conversion.values = block.data.data() + kConversionHead;
  conversion.count = std::min<size_t>(load<uint16_t>(block.data.data() + 6), available);
  const auto need = [&](size_t min) {
    if (conversion.count < min)
      file.refuse(block.at, fmt::format("a conversion of type {} with {} values", type, conversion.count),
                  fmt::format("{} or more", min));
  };
  switch (type) {
    case 1:
      // Some writers leave out the count.
      if (available < 2) need(2);
      conversion.offset = load<double>(conversion.values);
      conversion.factor = load<double>(conversion.values + 8);
      break;
    case 2:
      need(kRational);
      conversion.type = MdfConversion::Type::rational;
      break;
    case 3:
      file.refuse(block.at, fmt::format("'{}' as a formula", channel.name),
                  "a number, a linear function of it or a table");
    case 4:
    case 5:
      need(2);
      conversion.type = static_cast<MdfConversion::Type>(type);
      break;
    case 6:
      need(4);
      conversion.type = MdfConversion::Type::ranges;
      break;
    default:  // The value is the number itself, or a text that stands for it.
      break;
  }
  return conversion;
}

// The field of a virtual channel, which has no bytes in the record: its value follows from the record's
// number.
MdfField virtual_number(const MdfConversion& conversion) {
  MdfField field;
  field.conversion = conversion;
  field.by_index = field.converted = true;
  if (!conversion.is_constant()) return field;
  const uint64_t constant = field.number(nullptr);
  field.by_index = field.converted = false;
  field.constant = constant;
  return field;
}

MdfField::Kind kind_of(const MdfFile& file, const MdfBlock& block, const MdfChannel& channel) {
  if (channel.data_type > static_cast<uint8_t>(MdfField::Kind::real_be))
    file.refuse(block.at, fmt::format("'{}' of data type {}", channel.name, channel.data_type),
                "a number (0 to 5)");
  return static_cast<MdfField::Kind>(channel.data_type);
}

}  // namespace

double MdfConversion::other_value(double number) const {
  if (type == Type::rational)
    return (at(0) * number * number + at(1) * number + at(2)) /
           (at(3) * number * number + at(4) * number + at(5));
  if (type == Type::ranges) {
    const size_t ranges = (count - 1) / 3;
    for (size_t i = 0; i < ranges; ++i)
      if (number >= at(3 * i) && number <= at(3 * i + 1)) return at(3 * i + 2);
    return at(3 * ranges);
  }
  // Keys are ascending. Before the first and after the last key, that key's value holds.
  const size_t pairs = count / 2;
  size_t next = 0;
  while (next < pairs && at(2 * next) < number) ++next;
  if (next == pairs) return at(2 * pairs - 1);
  if (next == 0 || at(2 * next) == number) return at(2 * next + 1);
  const double low = at(2 * next - 2);
  const double share = (number - low) / (at(2 * next) - low);
  if (type == Type::nearest) return at(2 * (share > 0.5 ? next : next - 1) + 1);
  return at(2 * next - 1) + share * (at(2 * next + 1) - at(2 * next - 1));
}

uint64_t MdfField::raw_in_bytes(const uint8_t* record) const {
  const bool is_swapped = kind == Kind::unsigned_be || kind == Kind::signed_be || kind == Kind::real_be;
  uint8_t bytes[8] = {};
  const size_t used = (bit + bits + 7) / 8;
  for (size_t i = 0; i < used; ++i) bytes[i] = record[byte + (is_swapped ? used - 1 - i : i)];
  return load<uint64_t>(bytes) >> bit & mask;
}

double MdfField::other_raw_value(const uint8_t* record) const {
  const uint64_t stored = raw(record);
  switch (kind) {
    case Kind::real_le:
    case Kind::real_be:
      return bits == 64 ? std::bit_cast<double>(stored)
                        : static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(stored)));
    case Kind::signed_le:
    case Kind::signed_be: {
      const bool is_negative = bits > 0 && (stored >> (bits - 1) & 1) != 0;
      return static_cast<double>(static_cast<int64_t>(is_negative ? stored | ~mask : stored));
    }
    default:
      return static_cast<double>(stored);
  }
}

uint64_t MdfField::converted_number(const uint8_t* record, uint64_t index) const {
  const double number = value(record, index);
  constexpr double kMax = 0x1p63;
  return number >= 0 && number < kMax && number == std::floor(number) ? static_cast<uint64_t>(number)
                                                                      : ~uint64_t{0};
}

MdfChannel mdf_channel(const MdfFile& file, const MdfBlock& block) {
  if (block.data.size() < 16) file.refuse(block.at, "a short channel block", "72 bytes of it");
  const uint8_t* const at = block.data.data();
  MdfChannel channel{
      file.text(block.link(2)), at[0], at[1], at[2], block.link(5), block.link(1), block.link(4), {}};
  channel.field.bit = at[3];
  channel.field.byte = load<uint32_t>(at + 4);
  channel.field.bits = load<uint32_t>(at + 8);
  return channel;
}

MdfField mdf_number(const MdfFile& file, const MdfBlock& block, const MdfChannel& channel, uint64_t record) {
  const MdfConversion conversion = conversion_of(file, channel);
  if (channel.type == MdfChannel::kVirtual || channel.type == MdfChannel::kVirtualMaster)
    return virtual_number(conversion);
  MdfField field = channel.field;
  field.kind = kind_of(file, block, channel);
  field.conversion = conversion;
  const bool is_real = field.kind == MdfField::Kind::real_le || field.kind == MdfField::Kind::real_be;
  const bool sound =
      is_real ? field.bit == 0 && (field.bits == 32 || field.bits == 64)
              : field.bits >= 1 && field.bits <= 64 && field.bit < 8 && field.bit + field.bits <= 64;
  if (!sound || uint64_t{field.byte} + (field.bit + field.bits + 7) / 8 > record)
    file.refuse(block.at,
                fmt::format("'{}' in {} bits at byte {} of {}", channel.name, field.bits, field.byte, record),
                "a number of at most 64 bits within the record");
  field.mask = ~uint64_t{0} >> (64 - field.bits);
  const bool is_little = field.kind == MdfField::Kind::unsigned_le ||
                         field.kind == MdfField::Kind::signed_le || field.kind == MdfField::Kind::real_le;
  field.whole = is_little && uint64_t{field.byte} + 8 <= record;
  field.converted = is_real || !conversion.is_identity();
  return field;
}

}  // namespace plimsoll
