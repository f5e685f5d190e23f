#pragma once

#include <algorithm>
#include <memory>
#include <string_view>

#include "can/frames/frames.h"
#include "io/file.h"
#include "memory/vector.h"

namespace plimsoll {

/// A checked frame that its format can hold.
struct OutgoingFrame {
  int64_t time_ns;
  uint32_t can_id;      ///< CAN ID with SocketCAN's flags.
  const uint8_t* data;  ///< The payload, `length` bytes.
  uint8_t length;
  uint8_t flags;  ///< Bits kFrame*.
  uint8_t label;
  std::string_view channel;  ///< Channel name in the file; valid as long as the writer.

  bool is_remote() const { return (can_id & kCanRemote) != 0; }
  bool is_sent() const { return (flags & kFrameSent) != 0; }
  /// Whether the frame is CAN FD, by its flag or because its payload is longer than 8 bytes.
  bool is_fd() const { return (flags & kFrameFd) != 0 || length > kPayloadBytes; }
};

/// Appends characters to a buffer. The caller ensures that there is space. Not thread-safe.
class Pen {
 public:
  explicit Pen(char* at) : at_(at) {}

  void put(char c) { *at_++ = c; }
  void put(std::string_view text) { at_ = std::copy(text.begin(), text.end(), at_); }
  void hex(uint32_t value, int digits) {
    for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) put("0123456789ABCDEF"[value >> shift & 15]);
  }
  /// Appends seconds with six digits after the point, or nine if six are not enough.
  void seconds(int64_t time_ns) {
    decimal(time_ns / kSecond);
    fraction(time_ns % kSecond);
  }
  /// Appends seconds with leading zeros: ten digits before the point.
  void padded_seconds(int64_t time_ns) {
    digits(time_ns / kSecond, 10);
    fraction(time_ns % kSecond);
  }
  /// Appends the payload in hex.
  void payload(const OutgoingFrame& frame) {
    for (uint8_t i = 0; i < frame.length; ++i) hex(frame.data[i], 2);
  }
  char* at() const { return at_; }

 private:
  static constexpr int64_t kSecond = 1'000'000'000;

  void digits(int64_t value, int count) {
    for (int i = count - 1; i >= 0; --i, value /= 10) at_[i] = static_cast<char>('0' + value % 10);
    at_ += count;
  }
  void decimal(int64_t value) {
    int count = 1;
    for (int64_t rest = value; rest >= 10; rest /= 10) ++count;
    digits(value, count);
  }
  // Appends the digits after the point: six for whole microseconds, otherwise nine.
  void fraction(int64_t part_ns) {
    put('.');
    part_ns % 1000 == 0 ? digits(part_ns / 1000, 6) : digits(part_ns, 9);
  }

  char* at_;
};

/// A text capture that is written in blocks of 256 KiB. CaptureWriter checks the frames beforehand. Not
/// thread-safe. Errors: Failure, BudgetExceeded.
class TextWriter {
 public:
  /// `file` must be empty and outlive the writer. The caller syncs it.
  explicit TextWriter(File& file) : file_(file), buffer_(kBufferBytes) {}
  virtual ~TextWriter() = default;

  void add(const OutgoingFrame& frame) {
    if (filled_ + kLongestLine > buffer_.size()) flush();
    Pen pen(buffer_.data() + filled_);
    line(frame, pen);
    pen.put('\n');
    filled_ = static_cast<size_t>(pen.at() - buffer_.data());
  }
  /// Writes what is still in the buffer.
  void finish() { flush(); }

 protected:
  static constexpr size_t kLongestLine = 768;

  /// Appends the line of a frame without its end, fewer than kLongestLine characters.
  virtual void line(const OutgoingFrame& frame, Pen& pen) = 0;
  /// Appends the lines of a header.
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

/// Creates the writer of a format. `labels` adds a 0 or 1 after each frame of candump; csv always has labels.
std::unique_ptr<TextWriter> write_csv(File& file, bool labels);
std::unique_ptr<TextWriter> write_candump(File& file, bool labels);

}  // namespace plimsoll
