#pragma once

#include <algorithm>
#include <string_view>

#include "ingest/write/format_writer.h"
#include "memory/vector.h"

namespace plimsoll {

/// Puts characters one after the other; the caller sees to it that there is room.
class Pen {
 public:
  explicit Pen(char* at) : at_(at) {}

  void put(char c) { *at_++ = c; }
  void put(std::string_view text) { at_ = std::copy(text.begin(), text.end(), at_); }
  void hex(uint32_t value, int digits) {
    for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) put("0123456789ABCDEF"[value >> shift & 15]);
  }
  /// With as many digits as it takes.
  void hex(uint32_t value) {
    int digits = 1;
    while (digits < 8 && value >> 4 * digits != 0) ++digits;
    hex(value, digits);
  }
  /// Exactly so many digits.
  void digits(int64_t value, int count) {
    for (int i = count - 1; i >= 0; --i, value /= 10) at_[i] = static_cast<char>('0' + value % 10);
    at_ += count;
  }
  /// With at least so many characters, the first of them blank.
  void decimal(int64_t value, int width = 1) {
    char text[20];
    int count = 0;
    do text[count++] = static_cast<char>('0' + value % 10);
    while ((value /= 10) > 0);
    for (int i = count; i < width; ++i) put(' ');
    while (count > 0) put(text[--count]);
  }
  /// Seconds: six digits after the point, or nine where six are not enough.
  void seconds(int64_t time_ns, int width = 1) {
    decimal(time_ns / 1'000'000'000, width);
    fraction(time_ns % 1'000'000'000, 6);
  }
  /// The same with zeros in front: ten digits before the point.
  void padded_seconds(int64_t time_ns) {
    digits(time_ns / 1'000'000'000, 10);
    fraction(time_ns % 1'000'000'000, 6);
  }
  /// Milliseconds: three digits after the point, or six.
  void milliseconds(int64_t time_ns, int width = 1) {
    decimal(time_ns / 1'000'000, width);
    fraction(time_ns % 1'000'000, 3);
  }
  /// The payload in hex, with `between` before each byte but the first.
  void payload(const OutgoingFrame& frame, std::string_view between = "") {
    for (uint8_t i = 0; i < frame.length; ++i) {
      if (i > 0) put(between);
      hex(frame.data[i], 2);
    }
  }
  char* at() const { return at_; }

 private:
  // Nanoseconds after the point: down to the microsecond, or all.
  void fraction(int64_t part_ns, int whole) {
    put('.');
    part_ns % 1000 == 0 ? digits(part_ns / 1000, whole) : digits(part_ns, whole + 3);
  }

  char* at_;
};

/// A capture that is text, written in pieces of 256 KiB.
class TextWriter : public FormatWriter {
 public:
  explicit TextWriter(File& file) : file_(file), buffer_(kBufferBytes) {}

  void add(const OutgoingFrame& frame) final {
    if (filled_ + kLongestLine > buffer_.size()) flush();
    Pen pen(buffer_.data() + filled_);
    line(frame, pen);
    pen.put('\n');
    filled_ = static_cast<size_t>(pen.at() - buffer_.data());
  }
  void finish() override { flush(); }

 protected:
  static constexpr size_t kLongestLine = 768;

  /// The line of a frame, without its end, of fewer than kLongestLine characters.
  virtual void line(const OutgoingFrame& frame, Pen& pen) = 0;
  /// Lines of a header or an end.
  void text(std::string_view lines) {
    if (filled_ + lines.size() > buffer_.size()) flush();
    std::copy(lines.begin(), lines.end(), buffer_.data() + filled_);
    filled_ += lines.size();
  }

 private:
  static constexpr size_t kBufferBytes = 256 << 10;

  void flush() {
    file_.write(buffer_.data(), filled_);
    filled_ = 0;
  }

  File& file_;
  Vector<char, Tag::output> buffer_;
  size_t filled_ = 0;
};

}  // namespace plimsoll
