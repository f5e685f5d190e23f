#include <fmt/format.h>

#include <array>
#include <bit>

#include "base/error.h"
#include "ingest/can/byte_window.h"
#include "ingest/can/frame_reader.h"

// Captures of tcpdump and Wireshark from SocketCAN interfaces: pcap (draft-ietf-opsawg-pcap) and pcapng
// (draft-ietf-opsawg-pcapng), packets of LINKTYPE_CAN_SOCKETCAN.

namespace plimsoll {
namespace {

constexpr uint32_t kSocketCan = 227;
constexpr size_t kCanHeader = 8;  // ID and flags, big-endian; payload length; FD flags; two bytes
constexpr size_t kPcapWindow = 64 << 10;
constexpr uint32_t kMostBlock = 16 << 20;

class PcapFile : public FrameReader {
 public:
  PcapFile(const std::string& file, const FormatOptions& options, std::unique_ptr<InputStream> stream)
      : stream_(std::move(stream)), taker_(options, file) {
    if (!window_.have(4)) cut_off(0);
    if (load<uint32_t>(window_.data()) == 0x0A0D0D0A)
      is_next_generation_ = true;
    else
      read_header();
  }

  bool read(size_t most, FrameBatch& out, LineNotes& notes) override {
    for (size_t packet = 0; packet < most; ++packet)
      if (!(is_next_generation_ ? next_block(out, notes) : next_record(out, notes))) return false;
    return true;
  }
  CaptureFacts facts() const override { return {.name = "pcap", .labelled = false}; }
  int64_t bytes_read() const override { return stream_->bytes_read(); }
  int64_t unpacked_bytes() const override { return window_.position(); }
  std::string source_hash() const override { return stream_->source_hash(); }

 private:
  struct Interface {
    uint32_t link = 0;
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

  [[noreturn]] void cut_off(int64_t position) const {
    taker_.refuse(position, "a file that ends there", "all of it; fetch the file again");
  }

  void check_link(uint32_t link, int64_t position) const {
    if (link != kSocketCan)
      taker_.refuse(
          position, fmt::format("packets of link type {}", link),
          fmt::format("{}, SocketCAN: capture on one CAN interface, as in tcpdump -i can0", kSocketCan));
  }

  // ---- pcap

  void read_header() {
    if (!window_.have(24)) cut_off(0);
    const uint8_t* const at = window_.data();
    const auto magic = load<uint32_t>(at);
    swapped_ = magic == 0xD4C3B2A1 || magic == 0x4D3CB2A1;
    taker_.name_channel(0, "");  // the file is of one interface, whose name it does not tell
    Interface interface;
    interface.ticks_per_s = magic == 0xA1B23C4D || magic == 0x4D3CB2A1 ? 1'000'000'000 : 1'000'000;
    interface.link = u32(at + 20) & 0x0FFFFFFF;
    check_link(interface.link, 20);
    interfaces_.push_back(interface);
    window_.drop(24);
  }

  bool next_record(FrameBatch& out, LineNotes& notes) {
    const int64_t position = window_.position();
    if (!window_.have(1)) return false;
    if (!window_.have(16)) cut_off(position);
    const uint8_t* const at = window_.data();
    const uint64_t scale = 1'000'000'000 / interfaces_[0].ticks_per_s;
    const auto time_ns = static_cast<int64_t>(uint64_t{u32(at)} * 1'000'000'000 + u32(at + 4) * scale);
    const uint32_t bytes = u32(at + 8);
    if (bytes > kMostBlock)
      taker_.refuse(position, fmt::format("a packet of {} bytes", bytes), "one of CAN; the file is damaged");
    window_.drop(16);
    add_packet({.time_ns = time_ns, .channel = 0}, bytes, position, out, notes);
    if (!window_.pass(bytes)) cut_off(position);
    return true;
  }

  // ---- pcapng

  bool next_block(FrameBatch& out, LineNotes& notes) {
    const int64_t position = window_.position();
    if (!window_.have(1)) return false;
    if (!window_.have(12)) cut_off(position);
    const auto raw_type = load<uint32_t>(window_.data());
    if (raw_type == 0x0A0D0D0A) {  // a section, which says the order of bytes and starts without interfaces
      const auto order = load<uint32_t>(window_.data() + 8);
      if (order != 0x1A2B3C4D && order != 0x4D3C2B1A)
        taker_.refuse(position + 8, fmt::format("{:08X}", order), "1A2B3C4D, the order of bytes");
      swapped_ = order == 0x4D3C2B1A;
      first_interface_ += static_cast<uint32_t>(interfaces_.size());
      interfaces_.clear();
      taker_.forget_channels();
    }
    const uint32_t type = u32(window_.data());
    const uint32_t bytes = u32(window_.data() + 4);
    if (bytes < 12 || bytes % 4 != 0 || bytes > kMostBlock)
      taker_.refuse(position, fmt::format("a block of {} bytes", bytes), "12 or more, a multiple of 4");
    uint32_t left = bytes;
    if (type == 1) read_interface(bytes, position);
    if (type == 6) {
      if (!window_.have(28)) cut_off(position);
      if (bytes < 32) taker_.refuse(position, fmt::format("a packet block of {} bytes", bytes), "32 or more");
      const uint8_t* const at = window_.data();
      const uint32_t number = u32(at + 8);
      if (number >= interfaces_.size())
        taker_.refuse(position, fmt::format("interface {}", number), "one that was described before");
      const uint64_t ticks = uint64_t{u32(at + 12)} << 32 | u32(at + 16);
      const uint32_t captured = u32(at + 20);
      if (captured > bytes - 32)
        taker_.refuse(position, fmt::format("a packet of {} bytes", captured), "one within its block");
      const int64_t time_ns = time_of(ticks, interfaces_[number], position);
      window_.drop(28);
      left -= 28;
      check_link(interfaces_[number].link, position);
      const uint8_t sent = is_outbound(captured, left) ? kFrameSent : uint8_t{0};
      add_packet({.time_ns = time_ns, .channel = first_interface_ + number, .flags = sent}, captured,
                 position, out, notes);
    }
    if (!window_.pass(left)) cut_off(position);
    return true;
  }

  // Whether options after a packet say so; `left` bytes of the block are still to come, its length at the
  // end. Options of a packet too long for CAN are not looked at.
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
    if (bytes < 20 || !window_.have(std::min<size_t>(bytes, kPcapWindow))) cut_off(position);
    if (interfaces_.size() == 4096) taker_.refuse(position, "a 4097th interface", "fewer");
    const uint8_t* const at = window_.data();
    interface.link = u16(at + 8);
    const auto number = first_interface_ + static_cast<uint32_t>(interfaces_.size());
    const size_t end = std::min<size_t>(bytes, kPcapWindow) - 4;
    for (size_t option = 16; option + 4 <= end;) {
      const uint16_t code = u16(at + option);
      const uint16_t length = u16(at + option + 2);
      const uint8_t* const value = at + option + 4;
      if (code == 0 || option + 4 + length > end) break;
      if (code == 2 && length <= 64)
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

  // ---- both

  // The packet starts at the window's; passing over it is left to the caller.
  void add_packet(RawFrame frame, uint32_t bytes, int64_t position, FrameBatch& out, LineNotes& notes) {
    if (bytes < kCanHeader)
      taker_.refuse(position, fmt::format("a packet of {} bytes", bytes), "8 or more, those of a CAN frame");
    if (!window_.have(std::min<size_t>(bytes, kCanHeader + 64))) cut_off(position);
    const uint8_t* const at = window_.data();
    uint32_t id = __builtin_bswap32(load<uint32_t>(at));
    const size_t length = at[4];
    if (length > 64)
      taker_.refuse(position, fmt::format("a payload of {} bytes", length), "at most 64; CAN XL is not read");
    if ((id & kCanError) != 0) id &= ~kCanExtended;
    if ((id & (kCanExtended | kCanError)) == 0) id &= kCanRemote | 0x7FF;
    const bool is_remote = (id & kCanRemote) != 0;
    // What is after the length of a CAN frame is no flag; newer kernels mark those of CAN FD.
    frame.flags |= static_cast<uint8_t>(
        (at[5] & kFrameFd) != 0 || length > kPayloadBytes ? (at[5] & (kFrameBrs | kFrameEsi)) | kFrameFd : 0);
    if (!is_remote && length > bytes - kCanHeader)
      taker_.refuse(position, fmt::format("{} bytes of a payload of {}", bytes - kCanHeader, length),
                    "all of it: capture whole packets, as tcpdump -s 0 does");
    frame.can_id = id;
    frame.data = at + kCanHeader;
    frame.length = is_remote ? 0 : length;
    taker_.add(frame, position, out, notes);
  }

  std::unique_ptr<InputStream> stream_;
  FrameTaker taker_;
  ByteWindow window_{kPcapWindow, [this](char* data, size_t bytes) { return stream_->read(data, bytes); }};
  bool is_next_generation_ = false;
  bool swapped_ = false;
  Vector<Interface, Tag::ingest> interfaces_;  // of the section
  uint32_t first_interface_ = 0;               // of the file
};

}  // namespace

std::unique_ptr<FrameReader> open_pcap(const std::string& file, const FormatOptions& options,
                                       std::unique_ptr<InputStream> stream) {
  return std::make_unique<PcapFile>(file, options, std::move(stream));
}

}  // namespace plimsoll
