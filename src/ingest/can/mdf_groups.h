#pragma once

#include <optional>

#include "ingest/can/byte_window.h"
#include "ingest/can/mdf_file.h"
#include "memory/vector.h"

namespace plimsoll {

/// Where a number stands in a record of MDF, and what it means.
struct MdfField {
  enum class Kind : uint8_t { unsigned_le, unsigned_be, signed_le, real_le } kind = Kind::unsigned_le;
  uint32_t byte = 0;
  uint8_t bit = 0;
  uint32_t bits = 0;
  uint64_t mask = 0;   ///< of its bits
  bool whole = false;  ///< little-endian, and the record has 8 bytes from `byte` on: read at once
  double offset = 0;   ///< the value is offset + factor * what stands there
  double factor = 1;

  uint64_t number(const uint8_t* record) const {
    return whole ? load<uint64_t>(record + byte) >> bit & mask : number_in_bytes(record);
  }
  double value(const uint8_t* record) const {
    if (kind == Kind::real_le && bits == 64) return offset + factor * load<double>(record + byte);
    if (kind == Kind::unsigned_le) return offset + factor * static_cast<double>(number(record));
    return other_value(record);
  }

 private:
  double other_value(const uint8_t* record) const;
  uint64_t number_in_bytes(const uint8_t* record) const;
};

/// The frames of a channel group, as ASAM's "MDF bus logging" lays them out.
struct MdfCanGroup {
  enum class Kind : uint8_t { data, remote, error } kind = Kind::data;
  MdfField time;
  MdfField id;
  std::optional<MdfField> extended;
  std::optional<MdfField> channel;
  std::optional<MdfField> length;
  // Flags.
  std::optional<MdfField> sent, fd, brs, esi;
  // The payload: bytes of the record, or the place of a text of variable length.
  uint32_t data_byte = 0;
  uint32_t data_bytes = 0;
  std::optional<MdfField> data_place;
  uint64_t data_link = 0;  ///< of data_place: the block of texts, or the group whose records they are
};

/// One kind of record.
struct MdfGroup {
  uint64_t at = 0;
  uint64_t record_id = 0;
  uint64_t record_bytes = 0;  ///< without the ID
  bool variable = false;      ///< a text of variable length after its length
  std::optional<MdfCanGroup> can;
};

struct MdfDataGroup {
  uint64_t at = 0;
  uint64_t data = 0;     ///< link
  uint8_t id_bytes = 0;  ///< of a record's ID: 0, 1, 2, 4 or 8
  Vector<MdfGroup, Tag::ingest> groups;
};

/// The data groups that hold frames of CAN. Errors: InputError (none, CAN XL, a block that two lists name,
/// what is not understood), BudgetExceeded.
Vector<MdfDataGroup, Tag::ingest> find_can_groups(const MdfFile& file);

}  // namespace plimsoll
