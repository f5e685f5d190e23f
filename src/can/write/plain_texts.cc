#include "can/write/text_writer.h"

// Writers of the four-column CSV and of candump.

namespace plimsoll {
namespace {

// Writes three hex digits for an 11-bit ID, otherwise eight.
void put_id(const OutgoingFrame& frame, uint32_t kept_flags, Pen& pen) {
  if ((frame.can_id & (kCanExtended | kCanError)) != 0)
    pen.hex(frame.can_id & (0x1FFFFFFF | kept_flags), 8);
  else
    pen.hex(frame.can_id & 0x7FF, 3);
}

// Writes lines such as "1513920459.745822,2C0,1400000000000000,0".
class CsvWriter : public TextWriter {
 public:
  explicit CsvWriter(File& file) : TextWriter(file) { text("timestamp,arbitration_id,data_field,attack\n"); }

 protected:
  void line(const OutgoingFrame& frame, Pen& pen) override {
    pen.seconds(frame.time_ns);
    pen.put(',');
    put_id(frame, 0, pen);
    pen.put(',');
    pen.payload(frame);
    pen.put(',');
    pen.put(static_cast<char>('0' + frame.label));
  }
};

// Writes lines as `candump -L` prints them, "(1513920459.745822) vcan0 2C0#1400", and a label after each.
class CandumpWriter : public TextWriter {
 public:
  CandumpWriter(File& file, bool labels) : TextWriter(file), labels_(labels) {}

 protected:
  void line(const OutgoingFrame& frame, Pen& pen) override {
    pen.put('(');
    pen.padded_seconds(frame.time_ns);
    pen.put(") ");
    pen.put(frame.channel);
    pen.put(' ');
    put_id(frame, kCanError, pen);
    pen.put('#');
    if (frame.is_remote()) {
      pen.put('R');
    } else {
      if (frame.is_fd()) {
        pen.put('#');
        pen.hex(frame.flags & (kFrameBrs | kFrameEsi), 1);
      }
      pen.payload(frame);
    }
    if (labels_) {
      pen.put(' ');
      pen.put(static_cast<char>('0' + frame.label));
    } else if (frame.is_sent()) {
      pen.put(" T");
    }
  }

 private:
  bool labels_;
};

}  // namespace

std::unique_ptr<TextWriter> write_csv(File& file, bool /*labels*/) {
  return std::make_unique<CsvWriter>(file);
}

std::unique_ptr<TextWriter> write_candump(File& file, bool labels) {
  return std::make_unique<CandumpWriter>(file, labels);
}

}  // namespace plimsoll
