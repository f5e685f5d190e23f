#include "ingest/can/mdf_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "ingest/can/byte_window.h"

namespace plimsoll {
namespace {

constexpr size_t kLongestRecord = 60'000;  // of a group that is read
constexpr size_t kMostBlocks = 1 << 16;    // of a list of groups or channels

// Goes through the lists of a file's groups and channels. A sound file names each of these blocks once, so
// all of them together are no longer than the file; of lists that share blocks there is no end.
class MdfWalk {
 public:
  using Blocks = Vector<MdfBlock, Tag::ingest>;

  explicit MdfWalk(const MdfFile& file) : file_(file) {}

  // The blocks from `first` on, which may be 0; each links the next one first.
  Blocks list(uint64_t first, std::string_view id) {
    Blocks blocks;
    for (uint64_t at = first; at != 0; at = blocks.back().link(0)) {
      if (blocks.size() == kMostBlocks)
        file_.refuse(at, fmt::format("more than {} blocks {} in a list", kMostBlocks, id),
                     "fewer; the list may lead into itself");
      blocks.push_back(file_.block(at, id));
      spent_ += blocks.back().bytes();
      if (spent_ > file_.bytes().size())
        file_.refuse(at, fmt::format("a block {} that was read before", id),
                     "one that lists name once; the file is damaged");
    }
    return blocks;
  }
  const MdfFile& file() const { return file_; }

 private:
  const MdfFile& file_;
  uint64_t spent_ = 0;  // bytes of the file
};

// A channel block, as far as it is of interest.
struct MdfChannel {
  std::string name;
  uint8_t type;  // 0 fixed, 1 variable length, 2 master, 3 virtual master, 5 with a length of its own
  uint8_t sync;  // 1 time
  uint8_t data_type;
  uint64_t data_link;
  uint64_t composition;
  uint64_t conversion;
  MdfField field;
};

MdfChannel channel_of(const MdfFile& file, const MdfBlock& block) {
  if (block.data.size() < 16) file.refuse(block.at, "a short channel block", "72 bytes of it");
  const uint8_t* const at = block.data.data();
  MdfChannel channel{
      file.text(block.link(2)), at[0], at[1], at[2], block.link(5), block.link(1), block.link(4), {}};
  channel.field.bit = at[3];
  channel.field.byte = load<uint32_t>(at + 4);
  channel.field.bits = load<uint32_t>(at + 8);
  return channel;
}

// A number; its place is checked against the record.
MdfField number_of(const MdfFile& file, const MdfBlock& block, const MdfChannel& channel, uint64_t record) {
  MdfField field = channel.field;
  switch (channel.data_type) {
    case 0:
      field.kind = MdfField::Kind::unsigned_le;
      break;
    case 1:
      field.kind = MdfField::Kind::unsigned_be;
      break;
    case 2:
      field.kind = MdfField::Kind::signed_le;
      break;
    case 4:
      field.kind = MdfField::Kind::real_le;
      break;
    default:
      file.refuse(block.at, fmt::format("'{}' of data type {}", channel.name, channel.data_type),
                  "a number (0, 1, 2 or 4)");
  }
  const bool is_real = field.kind == MdfField::Kind::real_le;
  const bool sound =
      is_real ? field.bit == 0 && (field.bits == 32 || field.bits == 64)
              : field.bits >= 1 && field.bits <= 64 && field.bit < 8 && field.bit + field.bits <= 64;
  if (!sound || uint64_t{field.byte} + (field.bit + field.bits + 7) / 8 > record)
    file.refuse(block.at,
                fmt::format("'{}' in {} bits at byte {} of {}", channel.name, field.bits, field.byte, record),
                "a number of at most 64 bits within the record");
  field.mask = ~uint64_t{0} >> (64 - field.bits);
  field.whole = field.kind != MdfField::Kind::unsigned_be && uint64_t{field.byte} + 8 <= record;
  if (channel.conversion != 0) {
    const MdfBlock conversion = file.block(channel.conversion, "##CC");
    if (conversion.data.size() >= 40 && conversion.data[0] == 1) {  // linear
      field.offset = std::bit_cast<double>(load<uint64_t>(conversion.data.data() + 24));
      field.factor = std::bit_cast<double>(load<uint64_t>(conversion.data.data() + 32));
    }
  }
  return field;
}

// What a frame is made of, by the channels below one that is called CAN_DataFrame or the like.
void add_part(const MdfFile& file, const MdfBlock& block, const MdfChannel& channel, std::string_view part,
              uint64_t record, MdfCanGroup& can, bool& has_id) {
  if (part == "ID") {
    can.id = number_of(file, block, channel, record);
    has_id = true;
  } else if (part == "IDE") {
    can.extended = number_of(file, block, channel, record);
  } else if (part == "BusChannel") {
    can.channel = number_of(file, block, channel, record);
  } else if (part == "Dir") {
    can.sent = number_of(file, block, channel, record);
  } else if (part == "EDL") {
    can.fd = number_of(file, block, channel, record);
  } else if (part == "BRS") {
    can.brs = number_of(file, block, channel, record);
  } else if (part == "ESI") {
    can.esi = number_of(file, block, channel, record);
  } else if (part == "DataLength") {
    can.length = number_of(file, block, channel, record);
  } else if (part == "DataBytes") {
    if (channel.type == 1) {
      MdfChannel place = channel;
      place.data_type = 0;
      can.data_place = number_of(file, block, place, record);
      can.data_link = channel.data_link;
      return;
    }
    can.data_byte = channel.field.byte;
    can.data_bytes = channel.field.bits / 8;
    if (channel.field.bit != 0 || channel.field.bits % 8 != 0 ||
        uint64_t{can.data_byte} + can.data_bytes > record)
      file.refuse(block.at,
                  fmt::format("'{}' in {} bits at byte {} of {}", channel.name, channel.field.bits,
                              can.data_byte, record),
                  "whole bytes within the record");
  }
}

std::optional<MdfCanGroup> can_group(MdfWalk& walk, const MdfBlock& group, uint64_t record) {
  const MdfFile& file = walk.file();
  const MdfWalk::Blocks channels = walk.list(group.link(1), "##CN");
  MdfCanGroup can;
  bool is_can = false;
  bool has_id = false;
  bool has_time = false;
  for (const MdfBlock& block : channels) {
    const MdfChannel channel = channel_of(file, block);
    if (channel.type == 2 && channel.sync == 1) {
      can.time = number_of(file, block, channel, record);
      has_time = true;
      continue;
    }
    std::string_view name = channel.name;
    if (name.starts_with("CAN_XL")) file.refuse(block.at, "frames of CAN XL", "CAN or CAN FD");
    // Newer writers put the bus in front: "CAN1.CAN_DataFrame".
    if (const size_t at = name.find("CAN_"); at != std::string_view::npos && at > 0 && name[at - 1] == '.')
      name.remove_prefix(at);
    const size_t dot = std::min(name.find('.'), name.size());
    const std::string_view kind = name.substr(0, dot);
    if (kind != "CAN_DataFrame" && kind != "CAN_RemoteFrame" && kind != "CAN_ErrorFrame") continue;
    is_can = true;
    can.kind = kind == "CAN_DataFrame"     ? MdfCanGroup::Kind::data
               : kind == "CAN_RemoteFrame" ? MdfCanGroup::Kind::remote
                                           : MdfCanGroup::Kind::error;
    if (dot < name.size()) {
      add_part(file, block, channel, name.substr(dot + 1), record, can, has_id);
    } else if (channel.composition != 0 && file.block(channel.composition).id == "##CN") {
      for (const MdfBlock& below : walk.list(channel.composition, "##CN")) {
        const MdfChannel part = channel_of(file, below);
        const size_t last = part.name.rfind('.');
        add_part(file, below, part,
                 std::string_view(part.name).substr(last == std::string::npos ? 0 : last + 1), record, can,
                 has_id);
      }
    }
  }
  if (!is_can) return std::nullopt;
  if (!has_time) file.refuse(group.at, "frames without times", "a master channel of time in the group");
  if (!has_id && can.kind != MdfCanGroup::Kind::error)
    file.refuse(group.at, "frames without IDs", "a channel CAN_DataFrame.ID in the group");
  return can;
}

}  // namespace

uint64_t MdfField::number_in_bytes(const uint8_t* record) const {
  uint8_t bytes[8] = {};
  const size_t count = (bit + bits + 7) / 8;
  for (size_t i = 0; i < count; ++i)
    bytes[i] = record[byte + (kind == Kind::unsigned_be ? count - 1 - i : i)];
  return load<uint64_t>(bytes) >> bit & mask;
}

double MdfField::other_value(const uint8_t* record) const {
  if (kind == Kind::real_le) {
    return offset + factor * static_cast<double>(load<float>(record + byte));
  }
  const uint64_t raw = number(record);
  if (kind == Kind::signed_le && bits < 64 && (raw >> (bits - 1) & 1) != 0)
    return offset + factor * static_cast<double>(static_cast<int64_t>(raw | ~((uint64_t{1} << bits) - 1)));
  if (kind == Kind::signed_le) return offset + factor * static_cast<double>(static_cast<int64_t>(raw));
  return offset + factor * static_cast<double>(raw);
}

Vector<MdfDataGroup, Tag::ingest> find_can_groups(const MdfFile& file) {
  Vector<MdfDataGroup, Tag::ingest> found;
  MdfWalk walk(file);
  for (const MdfBlock& block : walk.list(file.first_data_group(), "##DG")) {
    MdfDataGroup data{block.at, block.link(2), block.data.empty() ? uint8_t{0} : block.data[0], {}};
    if (data.id_bytes > 8 || !std::has_single_bit(uint32_t{data.id_bytes} | (data.id_bytes == 0 ? 1U : 0U)))
      file.refuse(block.at, fmt::format("record IDs of {} bytes", data.id_bytes), "0, 1, 2, 4 or 8");
    bool has_can = false;
    for (const MdfBlock& group : walk.list(block.link(1), "##CG")) {
      if (group.data.size() < 32) file.refuse(group.at, "a short channel group", "32 bytes of it");
      const uint8_t* const at = group.data.data();
      MdfGroup one;
      one.at = group.at;
      one.record_id = load<uint64_t>(at);
      one.variable = (load<uint16_t>(at + 16) & 1) != 0;
      one.record_bytes = uint64_t{load<uint32_t>(at + 24)} + load<uint32_t>(at + 28);
      if (!one.variable) one.can = can_group(walk, group, load<uint32_t>(at + 24));
      if (one.can && one.record_bytes > kLongestRecord)
        file.refuse(group.at, fmt::format("records of {} bytes", one.record_bytes),
                    "shorter ones of CAN frames");
      has_can |= one.can.has_value();
      data.groups.push_back(one);
    }
    if (data.id_bytes == 0 && data.groups.size() > 1)
      file.refuse(block.at, fmt::format("{} kinds of records without IDs", data.groups.size()),
                  "one, or IDs");
    if (has_can && data.data != 0) found.push_back(std::move(data));
  }
  if (found.empty())
    file.refuse(64, "no frames of CAN",
                "channels CAN_DataFrame, as bus logging writes them; decoded signals are no frames");
  return found;
}

}  // namespace plimsoll
