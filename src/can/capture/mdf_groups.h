#pragma once

#include <optional>

#include "can/capture/mdf_field.h"
#include "can/capture/mdf_file.h"
#include "memory/vector.h"

namespace plimsoll {

/// The layout of a channel group's frames, according to ASAM's "MDF bus logging".
struct MdfCanGroup {
  enum class Kind : uint8_t { data, remote, error } kind = Kind::data;
  MdfField time;
  MdfField id;
  std::optional<MdfField> extended;
  std::optional<MdfField> channel;
  std::optional<MdfField> length;  ///< Length in bytes.
  std::optional<MdfField> dlc;     ///< Code of the length, in which 9 to 15 mean 12 to 64 bytes.
  // Flags of the frame.
  std::optional<MdfField> sent, fd, brs, esi;
  // The payload is either bytes of the record or a text of variable length at data_place.
  uint32_t data_byte = 0;
  uint32_t data_bytes = 0;
  std::optional<MdfField> data_place;
  /// Target of data_place: the block that holds the texts, or the group whose records are the texts.
  uint64_t data_link = 0;
  bool by_index = false;  ///< Whether a field is a function of the record's index.
};

/// One kind of record.
struct MdfGroup {
  uint64_t at = 0;
  uint64_t record_id = 0;
  uint64_t record_bytes = 0;  ///< Bytes without the ID.
  bool variable = false;      ///< The record is a length, followed by a text of this length.
  std::optional<MdfCanGroup> can;
};

struct MdfDataGroup {
  uint64_t at = 0;
  uint64_t data = 0;     ///< Link to the data.
  uint8_t id_bytes = 0;  ///< Bytes of a record's ID: 0, 1, 2, 4 or 8.
  /// Place of the last block in the file that describes groups. A block of data before it does not extend to
  /// the end of the file.
  uint64_t last_block = 0;
  Vector<MdfGroup, Tag::ingest> groups;
};

struct MdfCanGroups {
  Vector<MdfDataGroup, Tag::ingest> groups;
  int64_t other_records = 0;  ///< Number of records in data groups without frames, if the file states it.
  std::optional<uint64_t> truncated_at = {};  ///< Start of the description within which the file ends.
};
/// The data groups that hold CAN frames. Other channels and groups are ignored. Throws InputError if there is
/// no such group, for CAN XL, for a block that is in two lists and for a damaged description; also
/// BudgetExceeded.
MdfCanGroups find_can_groups(const MdfFile& file);

}  // namespace plimsoll
