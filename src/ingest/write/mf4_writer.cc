#include <fmt/format.h>

#include <array>
#include <map>

#include "ingest/write/byte_pen.h"
#include "ingest/write/format_writer.h"
#include "ingest/write/mdf_blocks.h"
#include "io/whole_deflate.h"
#include "memory/vector.h"

// ASAM MDF 4.10 with bus logging: sorted and finalised, a data group for each kind of frame of each bus,
// records in packed blocks. Places and names of channels are those that asammdf and python-can look for.

namespace plimsoll {
namespace {

constexpr size_t kBlockBytes = 64 << 10;  // of records, unpacked
constexpr size_t kListed = 512;           // blocks in a list
constexpr size_t kHeadOfFile = 64;
constexpr size_t kRecordHead = 16;

enum class RecordKind : uint8_t { data, remote, error };
constexpr const char* kNames[] = {"CAN_DataFrame", "CAN_RemoteFrame", "CAN_ErrorFrame"};

// Where a channel stands in a record.
struct RecordField {
  const char* name;
  uint32_t byte;
  uint8_t bit;
  uint32_t bits;
};
// After the time, 8 bytes; the payload follows them.
constexpr RecordField kFields[] = {
    {"ID", 8, 0, 29},  {"IDE", 11, 7, 1},        {"DLC", 12, 0, 4},
    {"Dir", 12, 4, 1}, {"EDL", 12, 5, 1},        {"BRS", 12, 6, 1},
    {"ESI", 12, 7, 1}, {"BusChannel", 13, 0, 8}, {"DataLength", 14, 0, 8},
};

// The records of one kind of frame of one bus.
struct RecordGroup {
  uint64_t data_group = 0;
  uint64_t channel_group = 0;
  size_t record_bytes = 0;
  uint64_t records = 0;
  Vector<uint8_t, Tag::output> held;
  size_t filled = 0;
  Vector<uint64_t, Tag::output> blocks;  // that no list has yet
  uint64_t first_list = 0;
  uint64_t last_list = 0;
};

class Mf4Writer : public FormatWriter {
 public:
  explicit Mf4Writer(const WriterSetup& setup)
      : blocks_(setup.file, head_of_file()), start_ns_(setup.start_ns), width_(setup.width) {
    packed_.resize(kPackedHead + deflater_.bound(kBlockBytes));
    std::array<uint8_t, 32> head{};
    BytePen(head.data()).put(start_ns_);  // in UTC: no flags
    head_ = blocks_.add("##HD", {0, 0, 0, 0, 0, 0}, head);
    const uint64_t comment = blocks_.add_text(
        "<FHcomment><TX>written by plimsoll convert</TX><tool_id>plimsoll</tool_id>"
        "<tool_vendor>plimsoll</tool_vendor><tool_version>0</tool_version></FHcomment>",
        "##MD");
    std::array<uint8_t, 16> history{};
    BytePen(history.data()).put(start_ns_);
    blocks_.set_link(head_, 1, blocks_.add("##FH", {0, comment}, history));
  }

  void add(const OutgoingFrame& frame) override {
    const RecordKind kind = frame.is_error()    ? RecordKind::error
                            : frame.is_remote() ? RecordKind::remote
                                                : RecordKind::data;
    RecordGroup& group = group_of(frame.channel, kind);
    if (group.filled + group.record_bytes > group.held.size()) write_block(group);
    BytePen pen(group.held.data() + group.filled);
    group.filled += group.record_bytes;
    ++group.records;
    pen.put(static_cast<double>(frame.time_ns - start_ns_) / 1e9);
    pen.put(frame.id() | (frame.is_extended() ? kCanExtended : 0));
    pen.put(static_cast<uint8_t>(frame.dlc() | (frame.is_sent() ? 0x10 : 0) | (frame.is_fd() ? 0x20 : 0) |
                                 ((frame.flags & kFrameBrs) != 0 ? 0x40 : 0) |
                                 ((frame.flags & kFrameEsi) != 0 ? 0x80 : 0)));
    pen.put(static_cast<uint8_t>(frame.channel));
    pen.put(frame.length);
    pen.zeros(1);
    if (kind != RecordKind::remote) pen.bytes(frame.data, frame.length, group.record_bytes - kRecordHead);
  }

  void finish() override {
    uint64_t following = 0;
    // Groups are linked in the order of buses.
    for (auto at = groups_.rbegin(); at != groups_.rend(); ++at) {
      RecordGroup& group = at->second;
      write_block(group);
      write_list(group);
      // Blocks of one length but the last, packed.
      const std::array<uint8_t, 8> packing{1, 0, kTransposed};
      blocks_.set_link(group.data_group, 2, blocks_.add("##HL", {group.first_list}, packing));
      blocks_.set_number(group.channel_group, 6, 8, group.records);
      blocks_.set_link(group.data_group, 0, following);
      following = group.data_group;
    }
    blocks_.set_link(head_, 0, following);
  }

 private:
  static constexpr size_t kPackedHead = 24;
  static constexpr uint8_t kTransposed = 1;
  static constexpr uint32_t kBusEvent = 1 << 10;  // flag of a channel

  static std::array<uint8_t, kHeadOfFile> head_of_file() {
    std::array<uint8_t, kHeadOfFile> head{};
    BytePen pen(head.data());
    pen.text("MDF     4.10    plimsoll");
    pen.zeros(4);
    pen.put<uint16_t>(410);
    return head;
  }

  RecordGroup& group_of(uint32_t bus, RecordKind kind) {
    const auto [found, is_new] = groups_.try_emplace({bus, kind});
    if (is_new) open(found->second, bus, kind);
    return found->second;
  }

  void open(RecordGroup& group, uint32_t bus, RecordKind kind) {
    const bool has_payload = kind != RecordKind::remote;
    // Error frames of SocketCAN have 8 bytes.
    const auto payload = static_cast<uint32_t>(!has_payload ? 0 : kind == RecordKind::error ? 8 : width_);
    group.record_bytes = kRecordHead + payload;
    group.held.resize(kBlockBytes / group.record_bytes * group.record_bytes);
    const std::string name = kNames[static_cast<size_t>(kind)];
    uint64_t part = 0;
    if (has_payload) part = add_channel(name + ".DataBytes", {}, 10, kRecordHead, 0, 8 * payload, kBusEvent);
    for (const RecordField& field : kFields)
      part = add_channel(name + '.' + field.name, {part}, 0, field.byte, field.bit, field.bits, kBusEvent);
    const uint64_t frame = add_channel(name, {0, part}, 10, 8, 0, 8 * (8 + payload), kBusEvent);
    const uint64_t time = add_channel("Timestamp", {frame}, 4, 0, 0, 64, 0);
    const uint64_t source_name = blocks_.add_text(fmt::format("CAN{}", bus));
    const std::array<uint8_t, 8> is_can_bus{2, 2};
    const uint64_t source = blocks_.add("##SI", {source_name, source_name, 0}, is_can_bus);
    std::array<uint8_t, 32> head{};
    BytePen pen(head.data());
    pen.zeros(16);
    pen.put<uint16_t>(6);  // events of a bus, as they were
    pen.put<uint16_t>('.');
    pen.zeros(4);
    pen.put(static_cast<uint32_t>(group.record_bytes));
    group.channel_group = blocks_.add("##CG", {0, time, source_name, source, 0, 0}, head);
    group.data_group = blocks_.add("##DG", {0, group.channel_group, 0, 0}, std::array<uint8_t, 8>{});
  }

  // `links`: the next channel, and the first one that it is made of.
  uint64_t add_channel(const std::string& name, std::array<uint64_t, 2> links, uint8_t type, uint32_t byte,
                       uint8_t bit, uint32_t bits, uint32_t flags) {
    const bool is_time = type == 4;
    std::array<uint8_t, 72> data{};
    BytePen pen(data.data());
    pen.put<uint8_t>(is_time ? 2 : 0);
    pen.put<uint8_t>(is_time ? 1 : 0);
    pen.put(type);
    pen.put(bit);
    pen.put(byte);
    pen.put(bits);
    pen.put(flags);
    const uint64_t unit = is_time ? blocks_.add_text("s") : 0;
    return blocks_.add("##CN", {links[0], links[1], blocks_.add_text(name), 0, 0, 0, unit, 0}, data);
  }

  void write_block(RecordGroup& group) {
    if (group.filled == 0) return;
    const size_t columns = group.record_bytes;
    const size_t rows = group.filled / columns;
    const uint8_t* from = group.held.data();
    if (kTransposed != 0) {
      turned_.resize(group.filled);
      for (size_t row = 0; row < rows; ++row)
        for (size_t column = 0; column < columns; ++column)
          turned_[column * rows + row] = group.held[row * columns + column];
      from = turned_.data();
    }
    const size_t bytes =
        deflater_.run({reinterpret_cast<const char*>(from), group.filled},
                      {reinterpret_cast<char*>(packed_.data()) + kPackedHead, packed_.size() - kPackedHead});
    BytePen pen(packed_.data());
    pen.text("DT");
    pen.put(kTransposed);
    pen.zeros(1);
    pen.put(static_cast<uint32_t>(columns));
    pen.put(uint64_t{group.filled});
    pen.put(uint64_t{bytes});
    group.blocks.push_back(blocks_.add("##DZ", {}, std::span(packed_).first(kPackedHead + bytes)));
    group.filled = 0;
    if (group.blocks.size() == kListed) write_list(group);
  }

  void write_list(RecordGroup& group) {
    if (group.blocks.empty()) return;
    std::array<uint8_t, 16> data{};
    BytePen pen(data.data());
    pen.put<uint32_t>(1);  // of one length
    pen.put(static_cast<uint32_t>(group.blocks.size()));
    pen.put(uint64_t{group.held.size()});
    group.blocks.insert(group.blocks.begin(), 0);  // the next list
    const uint64_t list = blocks_.add("##DL", std::span<const uint64_t>(group.blocks), data);
    if (group.last_list == 0)
      group.first_list = list;
    else
      blocks_.set_link(group.last_list, 0, list);
    group.last_list = list;
    group.blocks.clear();
  }

  MdfBlocks blocks_;
  int64_t start_ns_;
  int64_t width_;
  uint64_t head_ = 0;
  std::map<std::pair<uint32_t, RecordKind>, RecordGroup> groups_;
  WholeDeflater deflater_;
  Vector<uint8_t, Tag::output> packed_;
  Vector<uint8_t, Tag::output> turned_;
};

}  // namespace

std::unique_ptr<FormatWriter> write_mf4(const WriterSetup& setup) {
  return std::make_unique<Mf4Writer>(setup);
}

}  // namespace plimsoll
