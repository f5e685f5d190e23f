#pragma once

#include <string>

#include "can/capture/byte_window.h"
#include "can/capture/mdf_file.h"

namespace plimsoll {

/// The conversion of a stored number to a value (CC block): a linear or rational function, or a table in the
/// file.
struct MdfConversion {
  enum class Type : uint8_t { linear = 1, rational = 2, interpolated = 4, nearest = 5, ranges = 6 };
  Type type = Type::linear;
  double offset = 0;  ///< For linear: the value is offset + factor * the number.
  double factor = 1;
  /// For other types: the parameters or the table, as float64 in the mapped file.
  const uint8_t* values = nullptr;
  size_t count = 0;  ///< Number of values.

  double value(double number) const {
    return type == Type::linear ? offset + factor * number : other_value(number);
  }
  bool is_identity() const { return type == Type::linear && offset == 0 && factor == 1; }
  bool is_constant() const { return type == Type::linear && factor == 0; }

 private:
  double at(size_t index) const { return load<double>(values + 8 * index); }
  double other_value(double number) const;
};

/// The place of a number in an MDF record, and its conversion. A view of the file. Its functions need a
/// record of at least the size given to mdf_number(); `index` is that of the record in its group.
struct MdfField {
  enum class Kind : uint8_t { unsigned_le, unsigned_be, signed_le, signed_be, real_le, real_be };
  Kind kind = Kind::unsigned_le;
  uint32_t byte = 0;
  uint8_t bit = 0;
  uint32_t bits = 0;
  uint64_t mask = 0;      ///< The lowest `bits` bits.
  uint64_t constant = 0;  ///< The number if the record does not hold it; the field then has no bits.
  /// The number is little-endian and the record has 8 bytes from `byte` on, so they can be read at once.
  bool whole = false;
  bool by_index = false;   ///< The number is the index of the record in its group, from 0.
  bool converted = false;  ///< The number is real or has a conversion, so the value differs from the bits.
  MdfConversion conversion;

  /// The bits as stored in the record, shifted down to bit 0, or `constant`.
  uint64_t raw(const uint8_t* record) const {
    return (whole ? load<uint64_t>(record + byte) >> bit & mask : raw_in_bytes(record)) | constant;
  }
  /// The value as a whole number. If `converted` is set and the value is negative, not whole or 2^63 or more,
  /// all bits are set. A negative number that is not converted gives its stored bits.
  uint64_t number(const uint8_t* record, uint64_t index = 0) const {
    return converted ? converted_number(record, index) : raw(record);
  }
  double value(const uint8_t* record, uint64_t index = 0) const {
    if (by_index) return conversion.value(static_cast<double>(index));
    if (kind == Kind::real_le && bits == 64) return conversion.value(load<double>(record + byte));
    if (kind == Kind::unsigned_le) return conversion.value(static_cast<double>(raw(record)));
    return conversion.value(other_raw_value(record));
  }

 private:
  double other_raw_value(const uint8_t* record) const;
  uint64_t converted_number(const uint8_t* record, uint64_t index) const;
  uint64_t raw_in_bytes(const uint8_t* record) const;
};

/// The parts of a channel block that Plimsoll uses.
struct MdfChannel {
  enum Type : uint8_t { kText = 1, kMaster = 2, kVirtualMaster = 3, kMaxLength = 5, kVirtual = 6 };
  std::string name;
  uint8_t type;
  uint8_t sync;  ///< Synchronization: 1 is time.
  uint8_t data_type;
  uint64_t data_link;
  uint64_t composition;
  uint64_t conversion;
  MdfField field;
};

/// Reads a channel block (CN). `field` gets only its place. Throws InputError if the block is too short.
MdfChannel mdf_channel(const MdfFile& file, const MdfBlock& block);
/// The field of a channel in records of `record` bytes. Throws InputError if the channel is not a number
/// within the record, or if its conversion is damaged or is a formula.
MdfField mdf_number(const MdfFile& file, const MdfBlock& block, const MdfChannel& channel, uint64_t record);

}  // namespace plimsoll
