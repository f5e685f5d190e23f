#include "ingest/write/byte_pen.h"
#include "ingest/write/format_writer.h"
#include "memory/vector.h"

// pcapng (draft-ietf-opsawg-pcapng) with packets of LINKTYPE_CAN_SOCKETCAN, an interface a channel, times in
// ns.

namespace plimsoll {
namespace {

constexpr size_t kBufferBytes = 256 << 10;
constexpr size_t kLongestBlock = 256;
constexpr uint32_t kInterface = 1;
constexpr uint32_t kPacket = 6;
constexpr uint16_t kLinkOfCan = 227;

class PcapngWriter : public FormatWriter {
 public:
  explicit PcapngWriter(File& file) : file_(file), buffer_(kBufferBytes) {
    uint8_t* const at = block(0x0A0D0D0A);
    BytePen pen(at + 8);
    pen.put<uint32_t>(0x1A2B3C4D);
    pen.put<uint16_t>(1);
    pen.put<uint16_t>(0);
    pen.put<int64_t>(-1);  // of unknown length
    end(at, pen);
  }

  void add(const OutgoingFrame& frame) override {
    if (frame.channel >= interfaces_) add_interface(frame.channel_name);
    uint8_t* const at = block(kPacket);
    BytePen pen(at + 8);
    pen.put(frame.channel);
    pen.put(static_cast<uint32_t>(frame.time_ns >> 32));
    pen.put(static_cast<uint32_t>(frame.time_ns));
    const uint32_t bytes = 8U + frame.length;
    pen.put(bytes);
    pen.put(bytes);
    pen.put(__builtin_bswap32(frame.can_id));
    pen.put(frame.length);
    pen.put(static_cast<uint8_t>(frame.is_fd() ? kFrameFd | (frame.flags & (kFrameBrs | kFrameEsi)) : 0));
    pen.zeros(2);
    pen.bytes(frame.data, frame.length, (size_t{frame.length} + 3) / 4 * 4);
    if (frame.is_sent()) {
      put_option(2, 4, pen);
      pen.put<uint32_t>(2);  // outbound
      put_option(0, 0, pen);
    }
    end(at, pen);
  }

  void finish() override { flush(); }

 private:
  // Interfaces have the numbers of channels, which come in order.
  void add_interface(std::string_view name) {
    uint8_t* const at = block(kInterface);
    BytePen pen(at + 8);
    pen.put(kLinkOfCan);
    pen.zeros(6);  // packets of any length
    if (!name.empty()) {
      put_option(2, name.size(), pen);
      pen.text(name);
      pen.zeros((4 - name.size() % 4) % 4);
    }
    put_option(9, 1, pen);  // ticks of 10^-9 s
    pen.put<uint32_t>(9);
    put_option(0, 0, pen);
    end(at, pen);
    ++interfaces_;
  }

  static void put_option(uint16_t code, size_t bytes, BytePen& pen) {
    pen.put(code);
    pen.put(static_cast<uint16_t>(bytes));
  }

  uint8_t* block(uint32_t type) {
    if (filled_ + kLongestBlock > buffer_.size()) flush();
    uint8_t* const at = buffer_.data() + filled_;
    BytePen(at).put(type);
    return at;
  }
  // Its length stands before and after what is in it.
  void end(uint8_t* at, BytePen& pen) {
    const auto bytes = static_cast<uint32_t>(pen.at() - at + 4);
    pen.put(bytes);
    BytePen(at + 4).put(bytes);
    filled_ += bytes;
  }
  void flush() {
    file_.write(buffer_.data(), filled_);
    filled_ = 0;
  }

  File& file_;
  Vector<uint8_t, Tag::output> buffer_;
  size_t filled_ = 0;
  uint32_t interfaces_ = 0;
};

}  // namespace

std::unique_ptr<FormatWriter> write_pcapng(const WriterSetup& setup) {
  return std::make_unique<PcapngWriter>(setup.file);
}

}  // namespace plimsoll
