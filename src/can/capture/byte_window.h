#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>

#include "memory/vector.h"

namespace plimsoll {

/// Reads a number in the byte order of this machine. The machine and the files are little-endian.
template <typename T>
T load(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// A moving window over a stream of bytes. Functions that read throw the errors of the source. Not
/// thread-safe.
class ByteWindow {
 public:
  /// Reads some of the next bytes, at most `bytes`, and returns their number; 0 at the end.
  using Source = std::function<size_t(char* data, size_t bytes)>;
  /// `max` is the size of the window in bytes. Errors: BudgetExceeded.
  ByteWindow(size_t max, Source source) : buffer_(max), source_(std::move(source)) {}

  /// Reads until data() has at least this many bytes. Returns false if the stream ends before that. `bytes`
  /// must not exceed the size of the window.
  bool have(size_t bytes) {
    if (bytes > end_ - begin_) fill(bytes);
    return bytes <= end_ - begin_;
  }
  /// Number of bytes at data().
  size_t held() const { return end_ - begin_; }
  /// The next bytes. The pointer is valid until the next call that reads.
  const uint8_t* data() const { return buffer_.data() + begin_; }
  /// Skips bytes at data(), at most held().
  void drop(size_t bytes) {
    begin_ += bytes;
    position_ += static_cast<int64_t>(bytes);
  }
  /// Skips any number of bytes. Returns false if the stream ends before that.
  bool pass(uint64_t bytes) {
    while (bytes > 0) {
      if (!have(1)) return false;
      const size_t step = std::min<uint64_t>(bytes, held());
      drop(step);
      bytes -= step;
    }
    return true;
  }
  /// Skips the rest of the stream. Returns whether all of it is zeros.
  bool pass_zeros() {
    bool zeros = true;
    while (have(1)) {
      zeros = zeros && std::all_of(data(), data() + held(), [](uint8_t byte) { return byte == 0; });
      drop(held());
    }
    return zeros;
  }
  /// Number of bytes of the stream before data().
  int64_t position() const { return position_; }

 private:
  void fill(size_t bytes) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    while (end_ < bytes) {
      const size_t got = source_(reinterpret_cast<char*>(buffer_.data()) + end_, buffer_.size() - end_);
      if (got == 0) return;
      end_ += got;
    }
  }

  Vector<uint8_t, Tag::ingest> buffer_;
  Source source_;
  size_t begin_ = 0;
  size_t end_ = 0;
  int64_t position_ = 0;
};

}  // namespace plimsoll
