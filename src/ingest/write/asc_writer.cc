#include <fmt/format.h>

#include "ingest/write/calendar.h"
#include "ingest/write/text_writer.h"

// Vector's ASCII log, with the events and columns that python-can's can/io/asc.py reads and writes too.

namespace plimsoll {
namespace {

class AscWriter : public TextWriter {
 public:
  AscWriter(File& file, int64_t start_ns) : TextWriter(file), start_ns_(start_ns) {
    const std::string date = asc_date(start_ns);
    text(
        fmt::format("date {0}\nbase hex  timestamps absolute\ninternal events logged\n"
                    "// written by plimsoll; dates are UTC\nBegin Triggerblock {0}\n"
                    "   0.000000 Start of measurement\n",
                    date));
  }
  void finish() override {
    text("End TriggerBlock\n");
    TextWriter::finish();
  }

 protected:
  void line(const OutgoingFrame& frame, Pen& pen) override {
    pen.seconds(frame.time_ns - start_ns_, 4);
    pen.put(' ');
    if (frame.is_error()) {
      pen.decimal(frame.channel);
      pen.put("  ErrorFrame");
    } else if (frame.is_fd()) {
      fd_line(frame, pen);
    } else {
      pen.decimal(frame.channel);
      pen.put("  ");
      put_asc_id(frame, 15, pen);
      pen.put(frame.is_sent() ? " Tx   " : " Rx   ");
      if (frame.is_remote()) {
        pen.put('r');
        return;
      }
      pen.put("d ");
      pen.hex(frame.length);
      pen.put(' ');
      pen.payload(frame, " ");
    }
  }

 private:
  static void put_asc_id(const OutgoingFrame& frame, int64_t width, Pen& pen) {
    const char* const first = pen.at();
    pen.hex(frame.id());
    if (frame.is_extended()) pen.put('x');
    while (pen.at() - first < width) pen.put(' ');
  }

  // CANFD channel, direction, ID, no name, BRS, ESI, DLC, length, bytes; duration and bits of the message,
  // flags (12: CAN FD, 13: BRS, 14: ESI), checksum, bit timing.
  static void fd_line(const OutgoingFrame& frame, Pen& pen) {
    const uint32_t brs = (frame.flags & kFrameBrs) != 0 ? 1 : 0;
    const uint32_t esi = (frame.flags & kFrameEsi) != 0 ? 1 : 0;
    pen.put("CANFD ");
    pen.decimal(frame.channel, 3);
    pen.put(frame.is_sent() ? " Tx   " : " Rx   ");
    put_asc_id(frame, 9, pen);
    pen.put(brs != 0 ? "                                 1 " : "                                 0 ");
    pen.put(esi != 0 ? "1 " : "0 ");
    pen.hex(frame.dlc());
    pen.put(' ');
    pen.decimal(frame.length, 2);
    pen.put(' ');
    pen.payload(frame, " ");
    pen.put("        0    0     ");
    pen.hex(1U << 12 | brs << 13 | esi << 14);
    pen.put("        0        0        0        0        0");
  }

  int64_t start_ns_;
};

}  // namespace

std::unique_ptr<FormatWriter> write_asc(const WriterSetup& setup) {
  return std::make_unique<AscWriter>(setup.file, setup.start_ns);
}

}  // namespace plimsoll
