#include "can/capture/mdf_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "can/capture/byte_window.h"

namespace plimsoll {
namespace {

constexpr size_t kLongestRecord = 60'000;  // Maximum record bytes of a group that is read.
constexpr size_t kMaxBlocks = 1 << 16;     // Maximum blocks of a list of groups or channels.

// Walks the lists of a file's groups and channels. In a valid file each of these blocks is listed once, so
// together they are at most as long as the file. This limit stops walks that would not end because lists
// share blocks.
class MdfWalk {
 public:
  using Blocks = Vector<MdfBlock, Tag::ingest>;

  explicit MdfWalk(const MdfFile& file) : file_(file) {}

  // The blocks from `first` on. The first link of each block is the next one. `first` may be 0.
  Blocks list(uint64_t first, std::string_view id) {
    Blocks blocks;
    for (uint64_t at = first; at != 0; at = blocks.back().link(0)) {
      if (blocks.size() == kMaxBlocks)
        file_.refuse(at, fmt::format("more than {} blocks {} in a list", kMaxBlocks, id),
                     "fewer; the list may lead into itself");
      blocks.push_back(next(at, id));
    }
    return blocks;
  }
  // Reads one block of a list.
  MdfBlock next(uint64_t at, std::string_view id) {
    const MdfBlock block = file_.block(at, id);
    spent_ += block.bytes();
    if (spent_ > file_.bytes().size())
      file_.refuse(at, fmt::format("a block {} that was read before", id),
                   "a block that is listed only once; the file is damaged");
    last_block_ = std::max(last_block_, at);
    return block;
  }
  uint64_t last_block() const { return last_block_; }
  const MdfFile& file() const { return file_; }

 private:
  const MdfFile& file_;
  uint64_t spent_ = 0;  // Bytes of the file that were walked.
  uint64_t last_block_ = 0;
};

// Adds a part of a frame: a channel below a channel such as CAN_DataFrame.
void add_part(const MdfFile& file, const MdfBlock& block, const MdfChannel& channel, std::string_view part,
              uint64_t record, MdfCanGroup& can, bool& has_id) {
  if (part == "ID") {
    can.id = mdf_number(file, block, channel, record);
    has_id = true;
  } else if (part == "IDE") {
    can.extended = mdf_number(file, block, channel, record);
  } else if (part == "BusChannel") {
    can.channel = mdf_number(file, block, channel, record);
  } else if (part == "Dir") {
    can.sent = mdf_number(file, block, channel, record);
  } else if (part == "EDL") {
    can.fd = mdf_number(file, block, channel, record);
  } else if (part == "BRS") {
    can.brs = mdf_number(file, block, channel, record);
  } else if (part == "ESI") {
    can.esi = mdf_number(file, block, channel, record);
  } else if (part == "DataLength") {
    can.length = mdf_number(file, block, channel, record);
  } else if (part == "DLC") {
    can.dlc = mdf_number(file, block, channel, record);
  } else if (part == "DataBytes") {
    if (channel.type == MdfChannel::kText) {
      MdfChannel place = channel;
      place.data_type = 0;
      place.conversion = 0;
      can.data_place = mdf_number(file, block, place, record);
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
    // Without a length channel, the length is in the channel that the bytes lead to.
    if (channel.type == MdfChannel::kMaxLength && channel.data_link != 0 && !can.length) {
      const MdfBlock length = file.block(channel.data_link, "##CN");
      can.length = mdf_number(file, length, mdf_channel(file, length), record);
    }
  }
}

bool has_index(const MdfCanGroup& can) {
  const auto is = [](const std::optional<MdfField>& field) { return field && field->by_index; };
  return can.time.by_index || can.id.by_index || is(can.extended) || is(can.channel) || is(can.length) ||
         is(can.dlc) || is(can.sent) || is(can.fd) || is(can.brs) || is(can.esi);
}

std::optional<MdfCanGroup> can_group(MdfWalk& walk, const MdfBlock& group, uint64_t record) {
  const MdfFile& file = walk.file();
  const MdfWalk::Blocks channels = walk.list(group.link(1), "##CN");
  MdfCanGroup can;
  bool is_can = false;
  bool has_id = false;
  bool has_time = false;
  for (const MdfBlock& block : channels) {
    const MdfChannel channel = mdf_channel(file, block);
    const bool is_master = channel.type == MdfChannel::kMaster || channel.type == MdfChannel::kVirtualMaster;
    if (is_master && channel.sync == 1) {
      can.time = mdf_number(file, block, channel, record);
      has_time = true;
      continue;
    }
    std::string_view name = channel.name;
    if (name.starts_with("CAN_XL")) file.refuse(block.at, "frames of CAN XL", "CAN or CAN FD");
    // Newer writers put the bus first: "CAN1.CAN_DataFrame".
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
        const MdfChannel part = mdf_channel(file, below);
        const size_t last = part.name.rfind('.');
        add_part(file, below, part,
                 std::string_view(part.name).substr(last == std::string::npos ? 0 : last + 1), record, can,
                 has_id);
      }
    }
  }
  if (!is_can) return std::nullopt;
  if (!has_time) file.refuse(group.at, "frames without times", "a time master channel in the group");
  if (!has_id && can.kind != MdfCanGroup::Kind::error)
    file.refuse(group.at, "frames without IDs", "a channel CAN_DataFrame.ID in the group");
  can.by_index = has_index(can);
  return can;
}

// Reads one data group. Counts the records of a group without frames.
std::optional<MdfDataGroup> can_data_group(MdfWalk& walk, const MdfBlock& block, int64_t& other_records) {
  const MdfFile& file = walk.file();
  MdfDataGroup data{block.at, block.link(2), block.data.empty() ? uint8_t{0} : block.data[0], 0, {}};
  if (data.id_bytes > 8 || !std::has_single_bit(uint32_t{data.id_bytes} | (data.id_bytes == 0 ? 1U : 0U)))
    file.refuse(block.at, fmt::format("record IDs of {} bytes", data.id_bytes), "0, 1, 2, 4 or 8");
  bool has_can = false;
  uint64_t records = 0;
  for (const MdfBlock& group : walk.list(block.link(1), "##CG")) {
    if (group.data.size() < 32) file.refuse(group.at, "a short channel group", "32 bytes of it");
    const uint8_t* const at = group.data.data();
    MdfGroup record_group;
    record_group.at = group.at;
    record_group.record_id = load<uint64_t>(at);
    record_group.variable = (load<uint16_t>(at + 16) & 1) != 0;
    record_group.record_bytes = uint64_t{load<uint32_t>(at + 24)} + load<uint32_t>(at + 28);
    if (!record_group.variable) {
      record_group.can = can_group(walk, group, load<uint32_t>(at + 24));
      records += std::min<uint64_t>(load<uint64_t>(at + 8), file.bytes().size());
    }
    if (record_group.can && record_group.record_bytes > kLongestRecord)
      file.refuse(group.at, fmt::format("records of {} bytes", record_group.record_bytes),
                  "shorter records, as of CAN frames");
    has_can |= record_group.can.has_value();
    data.groups.push_back(record_group);
  }
  if (data.id_bytes == 0 && data.groups.size() > 1)
    file.refuse(block.at, fmt::format("{} kinds of records without IDs", data.groups.size()),
                "one kind, or record IDs");
  if (has_can && data.data != 0) return data;
  other_records += static_cast<int64_t>(records);
  return std::nullopt;
}

}  // namespace

MdfCanGroups find_can_groups(const MdfFile& file) {
  MdfCanGroups found;
  MdfWalk walk(file);
  // In most files data groups are stored one after the other, so groups before the end of a cut-off file are
  // whole.
  uint64_t at = file.first_data_group();
  try {
    while (at != 0) {
      const MdfBlock block = walk.next(at, "##DG");
      if (auto group = can_data_group(walk, block, found.other_records))
        found.groups.push_back(std::move(*group));
      at = block.link(0);
    }
  } catch (const MdfEnd&) {
    if (found.groups.empty()) throw;
    found.truncated_at = at;
  }
  for (MdfDataGroup& group : found.groups) group.last_block = walk.last_block();
  if (found.groups.empty())
    file.refuse(64, "no frames of CAN",
                "channels CAN_DataFrame, as bus logging writes them; decoded signals are not frames");
  return found;
}

}  // namespace plimsoll
