#pragma once

#include <optional>

#include "can/capture/mdf_field.h"
#include "can/capture/mdf_file.h"
#include "memory/vector.h"

namespace plimsoll {

/// The frames of a channel group, as ASAM's "MDF bus logging" lays them out.
struct MdfCanGroup {
  enum class Kind : uint8_t { data, remote, error } kind = Kind::data;
  MdfField time;
  MdfField id;
  std::optional<MdfField> extended;
  std::optional<MdfField> channel;
  std::optional<MdfField> length;  ///< in bytes
  std::optional<MdfField> dlc;     ///< the code of the length, in which 9 to 15 stand for 12 to 64 bytes
  // Flags.
  std::optional<MdfField> sent, fd, brs, esi;
  // The payload: bytes of the record, or the place of a text of variable length.
  uint32_t data_byte = 0;
  uint32_t data_bytes = 0;
  std::optional<MdfField> data_place;
  uint64_t data_link = 0;  ///< of data_place: the block of texts, or the group whose records they are
  bool by_index = false;   ///< a field is a function of the record's number
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
  uint64_t data = 0;        ///< link
  uint8_t id_bytes = 0;     ///< of a record's ID: 0, 1, 2, 4 or 8
  uint64_t last_block = 0;  ///< of all descriptions in the file: a block of data before it does not end it
  Vector<MdfGroup, Tag::ingest> groups;
};

struct MdfCanGroups {
  Vector<MdfDataGroup, Tag::ingest> groups;
  int64_t other_records = 0;  ///< of data groups without frames, as far as the file counts them
  std::optional<uint64_t> truncated_at = {};  ///< the file ends within the description that begins there
};
/// The data groups that hold frames of CAN. Errors: InputError (none, CAN XL, a block that two lists name,
/// what is not understood), BudgetExceeded.
MdfCanGroups find_can_groups(const MdfFile& file);

}  // namespace plimsoll
