#include <fmt/format.h>

#include <array>
#include <bit>

#include "base/error.h"
#include "can/capture/byte_window.h"
#include "can/capture/can_packet.h"

// Reads captures of tcpdump and Wireshark from SocketCAN interfaces: pcap (draft-ietf-opsawg-pcap) and pcapng
// (draft-ietf-opsawg-pcapng), with packets of links that carry CAN frames.

namespace plimsoll {
namespace {

constexpr size_t kPcapWindow = 64 << 10;
constexpr uint32_t kMaxBlock = 16 << 20;
constexpr uint32_t kMaxCanPacket = 2100;  // Maximum bytes, including CAN XL and a header.

// Block types of pcapng.
enum BlockType : uint32_t {
  kInterface = 1,
  kOldPacket = 2,
  kSimplePacket = 3,
  kLastKnown = 6,
  kPacket = 6,
  kSection = 0x0A0D0D0A,  // The same in both byte orders.
};

class PcapFile : public FrameReader {
 public:
  PcapFile(const std::string& file, const FormatOptions& options, std::unique_ptr<InputStream> stream)
      : stream_(std::move(stream)), taker_(options, file) {
    // FrameReader::open() recognizes the file by these bytes.
    if (!window_.have(4)) taker_.refuse(0, "a file of less than 4 bytes", "more; fetch it again");
    if (load<uint32_t>(window_.data()) == kSection)
      is_next_generation_ = true;
    else
      read_header();
  }

  bool read(size_t max, FrameBatch& out, LineNotes& notes) override {
    for (size_t packet = 0; packet < max; ++packet)
      if (!(is_next_generation_ ? next_block(out, notes) : next_record(out, notes))) return false;
    return true;
  }
  CaptureFacts facts() const override {
    return {.name = "pcap", .has_time = has_time_ || untimed_ == 0, .labelled = false};
  }
  int64_t bytes_read() const override { return stream_->bytes_read(); }
  int64_t unpacked_bytes() const override { return window_.position(); }
  std::string source_hash() const override { return stream_->source_hash(); }

 private:
  struct Interface {
    uint32_t link = 0;
    uint32_t longest = 0;  // Maximum captured bytes of a packet; 0: all.
    uint64_t ticks_per_s = 1'000'000;
    int64_t offset_s = 0;
  };

  uint16_t u16(const uint8_t* at) const {
    const auto value = load<uint16_t>(at);
    return swapped_ ? static_cast<uint16_t>(value << 8 | value >> 8) : value;
  }
  uint32_t u32(const uint8_t* at) const {
    const auto value = load<uint32_t>(at);
    return swapped_ ? __builtin_bswap32(value) : value;
  }

  // Handles a file that ends within the record at `position`. Returns false because nothing follows.
  bool cut_off(int64_t position) {
    taker_.allow_cut(position);
    while (window_.have(1)) window_.drop(window_.held());
    truncation_ = {position, window_.position() - position};
    return false;
  }
  bool end(int64_t position) {
    if (!has_can_link_ && other_link_) refuse_link(*other_link_, other_link_at_);
    return stream_->is_cut_off() ? cut_off(position) : false;
  }
  // Accepts zeros up to the end of the file, which a file system may leave after a power failure.
  bool end_in_zeros(int64_t position, const std::string& found, const std::string& expected) {
    if (!window_.pass_zeros()) taker_.refuse(position, found, expected);
    return cut_off(position);
  }

  [[noreturn]] void refuse_link(uint32_t link, int64_t position) const {
    taker_.refuse(
        position, fmt::format("packets of link type {}", link),
        fmt::format("{} (SocketCAN) or {} (cooked): capture on one CAN interface, as in tcpdump -i can0",
                    kSocketCanLink, kCookedLink));
  }

  // The following functions read pcap.

  void read_header() {
    constexpr size_t kHeader = 24;
    if (!window_.have(kHeader)) {
      cut_off(0);
      return;
    }
    const uint8_t* const at = window_.data();
    const auto magic = load<uint32_t>(at);
    swapped_ = magic == 0xD4C3B2A1 || magic == 0x4D3CB2A1;
    taker_.name_channel(0, "");  // The file has one interface and does not record its name.
    Interface interface;
    interface.ticks_per_s = magic == 0xA1B23C4D || magic == 0x4D3CB2A1 ? 1'000'000'000 : 1'000'000;
    interface.link = u32(at + 20) & 0x0FFFFFFF;
    if (!is_can_link(interface.link)) refuse_link(interface.link, 20);
    interfaces_.push_back(interface);
    window_.drop(kHeader);
  }

  bool next_record(FrameBatch& out, LineNotes& notes) {
    constexpr size_t kHeader = 16;
    const int64_t position = window_.position();
    if (!window_.have(1)) return end(position);
    if (!window_.have(kHeader)) return cut_off(position);
    const uint8_t* const at = window_.data();
    const Interface& interface = interfaces_[0];
    const uint32_t part = u32(at + 4);  // Fraction of a second.
    const uint64_t scale = 1'000'000'000 / interface.ticks_per_s;
    const auto time_ns = static_cast<int64_t>(uint64_t{u32(at)} * 1'000'000'000 + part * scale);
    const uint32_t bytes = u32(at + 8);
    const uint32_t original = u32(at + 12);
    const auto refuse = [&] {
      taker_.refuse(position, fmt::format("a packet of {} bytes", bytes), "one of CAN; the file is damaged");
    };
    if (bytes == 0 && original == 0 && time_ns == 0)
      return end_in_zeros(position, "a packet of 0 bytes", "one of CAN; the file is damaged");
    if (bytes > kMaxBlock || (part >= interface.ticks_per_s && bytes > original)) refuse();
    if (!window_.have(kHeader + std::min<size_t>(bytes, kPcapWindow - kHeader))) {
      if (bytes > original || bytes > kMaxCanPacket) refuse();  // The length of the packet is wrong.
      return cut_off(position);
    }
    window_.drop(kHeader);
    add_packet({.time_ns = time_ns, .channel = 0}, interface.link, bytes, position, out, notes);
    return window_.pass(bytes) || cut_off(position);
  }

  // The following functions read pcapng.

  bool next_block(FrameBatch& out, LineNotes& notes) {
    constexpr size_t kHeader = 12;  // Type, length, and the length again, which ends the shortest block.
    const int64_t position = window_.position();
    if (!window_.have(1)) return end(position);
    if (!window_.have(kHeader)) return cut_off(position);
    if (load<uint32_t>(window_.data()) == kSection) begin_section(position);
    const uint32_t type = u32(window_.data());
    const uint32_t bytes = u32(window_.data() + 4);
    if (type == 0 && bytes == 0)
      return end_in_zeros(position, "a block of 0 bytes", "12 or more, a multiple of 4");
    if (bytes < kHeader || bytes % 4 != 0 || bytes > kMaxBlock)
      taker_.refuse(position, fmt::format("a block of {} bytes", bytes), "12 or more, a multiple of 4");
    if (!window_.have(std::min<size_t>(bytes, kPcapWindow))) {
      if (holds_block(bytes))
        taker_.refuse(position, fmt::format("a block of {} bytes that has others in it", bytes),
                      "a shorter one; the file is damaged");
      return cut_off(position);
    }
    if (bytes <= kPcapWindow) check_length(window_.data() + bytes - 4, bytes, position);
    uint32_t left = bytes;
    if (type == kInterface)
      read_interface(bytes, position);
    else if (type == kPacket || type == kOldPacket)
      left = read_packet(type, bytes, position, out, notes);
    else if (type == kSimplePacket)
      left = read_simple_packet(bytes, position, out, notes);
    else if (type != kSection)
      ++notes.other_records;
    if (!window_.pass(left - 4) || !window_.have(4)) return cut_off(position);
    check_length(window_.data(), bytes, position);
    window_.drop(4);
    return true;
  }

  // Starts a section, which defines the byte order and has no interfaces yet.
  void begin_section(int64_t position) {
    const auto order = load<uint32_t>(window_.data() + 8);
    if (order != 0x1A2B3C4D && order != 0x4D3C2B1A)
      taker_.refuse(position + 8, fmt::format("{:08X}", order), "1A2B3C4D, which shows the byte order");
    swapped_ = order == 0x4D3C2B1A;
    first_interface_ += static_cast<uint32_t>(interfaces_.size());
    interfaces_.clear();
    taker_.forget_channels();
  }

  // Checks that the length at the end of a block equals the length at its start.
  void check_length(const uint8_t* last, uint32_t bytes, int64_t position) const {
    if (u32(last) != bytes)
      taker_.refuse(position, fmt::format("a block of {} bytes whose end says {}", bytes, u32(last)),
                    "the same length twice; the file is damaged");
  }

  // Whether another block starts within a block that extends beyond the end of the file. If so, its length is
  // wrong.
  bool holds_block(uint32_t bytes) const {
    const size_t held = std::min<size_t>(window_.held(), bytes);
    for (size_t at = 8; at + 12 <= held; at += 4) {
      const uint8_t* const block = window_.data() + at;
      const uint32_t length = u32(block + 4);
      if (u32(block) >= kInterface && u32(block) <= kLastKnown && length >= 12 && length % 4 == 0 &&
          length <= held - at && u32(block + length - 4) == length)
        return true;
    }
    return false;
  }

  const Interface& interface(uint32_t number, int64_t position) const {
    if (number >= interfaces_.size())
      taker_.refuse(position, fmt::format("interface {}", number), "an interface that was described before");
    return interfaces_[number];
  }

  // Reads a packet with a time, in a block of either kind. Returns the bytes of the block that are left.
  uint32_t read_packet(uint32_t type, uint32_t bytes, int64_t position, FrameBatch& out, LineNotes& notes) {
    constexpr uint32_t kHeader = 28;
    if (bytes < kHeader + 4)
      taker_.refuse(position, fmt::format("a packet block of {} bytes", bytes), "32 or more");
    const uint8_t* const at = window_.data();
    const uint32_t number = type == kOldPacket ? u16(at + 8) : u32(at + 8);
    const Interface& from = interface(number, position);
    const uint64_t ticks = uint64_t{u32(at + 12)} << 32 | u32(at + 16);
    const uint32_t captured = u32(at + 20);
    if (captured > bytes - kHeader - 4)
      taker_.refuse(position, fmt::format("a packet of {} bytes", captured), "one within its block");
    const uint32_t left = bytes - kHeader;
    window_.drop(kHeader);
    if (!is_can_link(from.link)) return leave_out(from.link, position, notes), left;
    const uint8_t sent = is_outbound(captured, left) ? kFrameSent : uint8_t{0};
    add_packet(
        {.time_ns = time_of(ticks, from, position), .channel = first_interface_ + number, .flags = sent},
        from.link, captured, position, out, notes);
    return left;
  }

  // Reads a packet that has no time and belongs to the first interface. Returns the bytes of the block that
  // are left.
  uint32_t read_simple_packet(uint32_t bytes, int64_t position, FrameBatch& out, LineNotes& notes) {
    constexpr uint32_t kHeader = 12;
    if (bytes < kHeader + 4)
      taker_.refuse(position, fmt::format("a packet block of {} bytes", bytes), "16 or more");
    const Interface& from = interface(0, position);
    uint32_t captured = std::min(u32(window_.data() + 8), bytes - kHeader - 4);
    if (from.longest > 0) captured = std::min(captured, from.longest);
    const uint32_t left = bytes - kHeader;
    window_.drop(kHeader);
    if (!is_can_link(from.link)) return leave_out(from.link, position, notes), left;
    RawFrame frame{.time_ns = has_time_ ? time_ns_ : untimed_, .channel = first_interface_};
    if (!read_can_packet(packet(from.link, captured), taker_, position, frame, notes)) {
      ++notes.other_records;
      return left;
    }
    ++untimed_;
    ++notes.no_time;
    taker_.add(frame, position, out, notes);
    return left;
  }

  void leave_out(uint32_t link, int64_t position, LineNotes& notes) {
    ++notes.other_records;
    if (other_link_) return;
    other_link_ = link;
    other_link_at_ = position;
  }

  // Whether the options after a packet mark it as outbound. `left` bytes of the block follow, with its length
  // at the end. The options of a packet too long for CAN are not read.
  bool is_outbound(uint32_t captured, uint32_t left) {
    const size_t end = size_t{left} - 4;
    if (left > kPcapWindow || !window_.have(left)) return false;
    const uint8_t* const at = window_.data();
    for (size_t option = (size_t{captured} + 3) / 4 * 4; option + 8 <= end;) {
      const uint16_t code = u16(at + option);
      const uint16_t length = u16(at + option + 2);
      if (code == 0) break;
      if (code == 2 && length == 4) return (u32(at + option + 4) & 3) == 2;
      option += 4 + (size_t{length} + 3) / 4 * 4;
    }
    return false;
  }

  void read_interface(uint32_t bytes, int64_t position) {
    Interface interface;
    if (bytes < 20)
      taker_.refuse(position, fmt::format("a block of an interface of {} bytes", bytes), "20 or more");
    if (interfaces_.size() == 4096) taker_.refuse(position, "a 4097th interface", "fewer");
    const uint8_t* const at = window_.data();
    interface.link = u16(at + 8);
    interface.longest = u32(at + 12);
    has_can_link_ |= is_can_link(interface.link);
    const auto number = first_interface_ + static_cast<uint32_t>(interfaces_.size());
    const size_t end = std::min<size_t>(bytes, kPcapWindow) - 4;
    for (size_t option = 16; option + 4 <= end;) {
      const uint16_t code = u16(at + option);
      const uint16_t length = u16(at + option + 2);
      const uint8_t* const value = at + option + 4;
      if (code == 0 || option + 4 + length > end) break;
      if (code == 2 && length >= 1 && length <= 64)
        taker_.name_channel(number, std::string(reinterpret_cast<const char*>(value), length));
      if (code == 9 && length >= 1) {
        const int power = value[0] & 0x7F;
        interface.ticks_per_s = 1;
        for (int i = 0; i < std::min(power, (value[0] & 0x80) != 0 ? 62 : 18); ++i)
          interface.ticks_per_s *= (value[0] & 0x80) != 0 ? 2 : 10;
      }
      if (code == 14 && length >= 8)
        interface.offset_s =
            static_cast<int64_t>(swapped_ ? __builtin_bswap64(load<uint64_t>(value)) : load<uint64_t>(value));
      option += 4 + (size_t{length} + 3) / 4 * 4;
    }
    interfaces_.push_back(interface);
  }

  int64_t time_of(uint64_t ticks, const Interface& interface, int64_t position) const {
    const uint64_t seconds = ticks / interface.ticks_per_s;
    if (seconds > 9'000'000'000 || interface.offset_s < -9'000'000'000 ||
        interface.offset_s > 9'000'000'000 ||
        static_cast<int64_t>(seconds) + interface.offset_s > 9'000'000'000)
      taker_.refuse(position, "a time past the year 2255", "an earlier one");
    __extension__ using Wide = unsigned __int128;
    const auto part =
        static_cast<Wide>(ticks % interface.ticks_per_s) * 1'000'000'000 / interface.ticks_per_s;
    return (static_cast<int64_t>(seconds) + interface.offset_s) * 1'000'000'000 + static_cast<int64_t>(part);
  }

  // The following functions serve both formats.

  // The packet at the start of the window. The caller skips it.
  CanPacket packet(uint32_t link, uint32_t bytes) const { return {link, window_.data(), bytes, swapped_}; }

  void add_packet(RawFrame frame, uint32_t link, uint32_t bytes, int64_t position, FrameBatch& out,
                  LineNotes& notes) {
    if (!read_can_packet(packet(link, bytes), taker_, position, frame, notes)) {
      ++notes.other_records;
      return;
    }
    has_time_ = true;
    time_ns_ = frame.time_ns;
    taker_.add(frame, position, out, notes);
  }

  std::unique_ptr<InputStream> stream_;
  FrameTaker taker_;
  ByteWindow window_{kPcapWindow, [this](char* data, size_t bytes) { return stream_->read(data, bytes); }};
  bool is_next_generation_ = false;
  bool swapped_ = false;
  Vector<Interface, Tag::ingest> interfaces_;  // Interfaces of the section.
  uint32_t first_interface_ = 0;               // Index of the section's first interface in the file.
  // For pcapng: whether a CAN interface was described, and the first packet of another interface.
  bool has_can_link_ = false;
  std::optional<uint32_t> other_link_;
  int64_t other_link_at_ = 0;
  bool has_time_ = false;  // Whether any frame so far had a time.
  int64_t time_ns_ = 0;    // Time of the last frame that had one.
  int64_t untimed_ = 0;    // Number of frames that had none.
};

}  // namespace

std::unique_ptr<FrameReader> open_pcap(const std::string& file, const FormatOptions& options,
                                       std::unique_ptr<InputStream> stream) {
  return std::make_unique<PcapFile>(file, options, std::move(stream));
}

}  // namespace plimsoll
