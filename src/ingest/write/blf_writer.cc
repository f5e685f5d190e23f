#include <array>
#include <limits>

#include "ingest/write/byte_pen.h"
#include "ingest/write/calendar.h"
#include "ingest/write/format_writer.h"
#include "io/whole_deflate.h"
#include "memory/vector.h"

// Vector's Binary Logging Format: containers of 128 KiB of objects, packed. Sizes and fields are those of
// python-can's can/io/blf.py (LGPL-3.0), from which they were taken; ingest/can/blf.cc reads them.

namespace plimsoll {
namespace {

constexpr size_t kHeaderBytes = 144;
constexpr size_t kContainerBytes = 128 << 10;  // unpacked
constexpr size_t kContainerHead = 32;
constexpr size_t kObjectHead = 32;

class BlfWriter : public FormatWriter {
 public:
  BlfWriter(File& file, int64_t start_ns)
      : file_(file), start_ns_(start_ns), stop_ns_(start_ns), objects_(kContainerBytes) {
    packed_.resize(kContainerHead + deflater_.bound(kContainerBytes) + 4);
    const auto head = header();
    file_.write(head.data(), head.size());
  }

  void add(const OutgoingFrame& frame) override {
    stop_ns_ = std::max(stop_ns_, frame.time_ns);
    ++count_;
    if (frame.is_error())
      add_error(frame);
    else if (frame.is_fd())
      add_fd(frame);
    else
      add_classic(frame);
  }

  void finish() override {
    write_container();
    const auto head = header();
    file_.write_at(0, head.data(), head.size());
  }

 private:
  // The start of an object of so many bytes.
  BytePen object(uint32_t type, uint32_t bytes, const OutgoingFrame& frame) {
    if (filled_ + bytes > objects_.size()) write_container();
    BytePen pen(objects_.data() + filled_);
    filled_ += bytes;
    pen.text("LOBJ");
    pen.put<uint16_t>(kObjectHead);
    pen.put<uint16_t>(1);  // version of the header
    pen.put(bytes);
    pen.put(type);
    pen.put<uint32_t>(2);  // times in ns
    pen.zeros(4);
    pen.put(static_cast<uint64_t>(frame.time_ns - start_ns_));
    return pen;
  }
  static uint8_t flags_of(const OutgoingFrame& frame) {
    return static_cast<uint8_t>((frame.is_sent() ? 1 : 0) | (frame.is_remote() ? 0x80 : 0));
  }
  static uint32_t id_of(const OutgoingFrame& frame) { return frame.can_id & (kCanExtended | 0x1FFFFFFF); }

  void add_classic(const OutgoingFrame& frame) {
    BytePen pen = object(1, kObjectHead + 16, frame);
    pen.put(static_cast<uint16_t>(frame.channel));
    pen.put(flags_of(frame));
    pen.put(frame.length);
    pen.put(id_of(frame));
    pen.bytes(frame.data, frame.length, 8);
  }

  void add_fd(const OutgoingFrame& frame) {
    BytePen pen = object(100, kObjectHead + 84, frame);
    pen.put(static_cast<uint16_t>(frame.channel));
    pen.put(flags_of(frame));
    pen.put(frame.dlc());
    pen.put(id_of(frame));
    pen.zeros(5);  // length of the frame, number of bits
    pen.put(static_cast<uint8_t>(1 | ((frame.flags & kFrameBrs) != 0 ? 2 : 0) |
                                 ((frame.flags & kFrameEsi) != 0 ? 4 : 0)));
    pen.put(frame.length);
    pen.zeros(5);
    pen.bytes(frame.data, frame.length, 64);
  }

  void add_error(const OutgoingFrame& frame) {
    BytePen pen = object(73, kObjectHead + 32, frame);
    pen.put(static_cast<uint16_t>(frame.channel));
    pen.zeros(8);  // length, flags, error code, its position
    pen.put(frame.length);
    pen.zeros(5);
    pen.put(frame.id());
    pen.zeros(4);
    pen.bytes(frame.data, frame.length, 8);
  }

  void write_container() {
    if (filled_ == 0) return;
    const size_t packed = deflater_.run(
        {reinterpret_cast<const char*>(objects_.data()), filled_},
        {reinterpret_cast<char*>(packed_.data()) + kContainerHead, packed_.size() - kContainerHead - 4});
    const auto bytes = static_cast<uint32_t>(kContainerHead + packed);
    BytePen pen(packed_.data());
    pen.text("LOBJ");
    pen.put<uint16_t>(16);
    pen.put<uint16_t>(1);
    pen.put(bytes);
    pen.put<uint32_t>(10);
    pen.put<uint16_t>(2);  // zlib
    pen.zeros(6);
    pen.put(static_cast<uint32_t>(filled_));
    pen.zeros(4);
    BytePen(packed_.data() + bytes).zeros(bytes % 4);  // as Vector fills up
    file_.write(packed_.data(), bytes + bytes % 4);
    file_bytes_ += bytes + bytes % 4;
    unpacked_bytes_ += kContainerHead + filled_;
    filled_ = 0;
  }

  std::array<uint8_t, kHeaderBytes> header() const {
    std::array<uint8_t, kHeaderBytes> bytes{};
    BytePen pen(bytes.data());
    pen.text("LOGG");
    pen.put<uint32_t>(kHeaderBytes);
    pen.put<uint32_t>(0);           // an application of no number, its version
    pen.put<uint32_t>(0x01080602);  // of the format: 2.6.8.1
    pen.put(file_bytes_);
    pen.put(unpacked_bytes_);
    pen.put(static_cast<uint32_t>(std::min<uint64_t>(count_, std::numeric_limits<uint32_t>::max())));
    pen.put<uint32_t>(0);
    put_system_time(start_ns_, pen);
    put_system_time(stop_ns_, pen);
    return bytes;
  }

  static void put_system_time(int64_t time_ns, BytePen& pen) {
    const CalendarTime time(time_ns);
    for (const int part : {time.year, time.month, time.weekday, time.day, time.hour, time.minute, time.second,
                           time.millisecond})
      pen.put(static_cast<uint16_t>(part));
  }

  File& file_;
  int64_t start_ns_;
  int64_t stop_ns_;
  WholeDeflater deflater_;
  Vector<uint8_t, Tag::output> objects_;
  Vector<uint8_t, Tag::output> packed_;
  size_t filled_ = 0;
  uint64_t file_bytes_ = kHeaderBytes;
  uint64_t unpacked_bytes_ = kHeaderBytes;
  uint64_t count_ = 0;
};

}  // namespace

std::unique_ptr<FormatWriter> write_blf(const WriterSetup& setup) {
  return std::make_unique<BlfWriter>(setup.file, setup.start_ns);
}

}  // namespace plimsoll
