#include "ingest/write/text_writer.h"

// CSV files of tools: GVRET and SavvyCAN, python-can.

namespace plimsoll {
namespace {

// "166064000,00000370,false,Rx,0,8,00,00,...,00,", times in us
class GvretWriter : public TextWriter {
 public:
  explicit GvretWriter(File& file) : TextWriter(file) {
    text("Time Stamp,ID,Extended,Dir,Bus,LEN,D1,D2,D3,D4,D5,D6,D7,D8\n");
  }

 protected:
  void line(const OutgoingFrame& frame, Pen& pen) override {
    pen.decimal(frame.time_ns / 1000);
    pen.put(',');
    pen.hex(frame.id(), 8);
    pen.put(frame.is_extended() ? ",true," : ",false,");
    pen.put(frame.is_sent() ? "Tx," : "Rx,");
    pen.decimal(frame.channel);
    pen.put(',');
    pen.decimal(frame.length);
    pen.put(',');
    for (uint8_t i = 0; i < frame.length; ++i) {
      pen.hex(frame.data[i], 2);
      pen.put(',');
    }
  }
};

// "1483389946.197000,0xdadada,1,0,0,6,YmFzZTY0", as python-can's CSVWriter
class PythonCanWriter : public TextWriter {
 public:
  explicit PythonCanWriter(File& file) : TextWriter(file) {
    text("timestamp,arbitration_id,extended,remote,error,dlc,data\n");
  }

 protected:
  void line(const OutgoingFrame& frame, Pen& pen) override {
    pen.seconds(frame.time_ns);
    pen.put(",0x");
    pen.hex(frame.id());
    pen.put(frame.is_extended() ? ",1" : ",0");
    pen.put(frame.is_remote() ? ",1" : ",0");
    pen.put(frame.is_error() ? ",1," : ",0,");
    pen.decimal(frame.length);
    pen.put(',');
    put_base64(frame, pen);
  }

 private:
  // RFC 4648, padded.
  static void put_base64(const OutgoingFrame& frame, Pen& pen) {
    constexpr const char* kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < frame.length; i += 3) {
      const size_t bytes = std::min<size_t>(3, frame.length - i);
      uint32_t bits = 0;
      for (size_t k = 0; k < 3; ++k) bits = bits << 8 | (k < bytes ? frame.data[i + k] : 0);
      for (size_t k = 0; k < 4; ++k) pen.put(k <= bytes ? kDigits[bits >> (18 - 6 * k) & 63] : '=');
    }
  }
};

}  // namespace

std::unique_ptr<FormatWriter> write_gvret(const WriterSetup& setup) {
  return std::make_unique<GvretWriter>(setup.file);
}

std::unique_ptr<FormatWriter> write_python_can(const WriterSetup& setup) {
  return std::make_unique<PythonCanWriter>(setup.file);
}

}  // namespace plimsoll
