#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "base/mutex.h"
#include "io/scratch_file.h"
#include "memory/mapped_bytes.h"
#include "memory/vector.h"

namespace plimsoll {

/// Thrown when a scratch file has no free extent left.
class ScratchStreamsFull : public Failure {
 public:
  using Failure::Failure;
};

/// Streams of bytes in one scratch file. Each is written from start to end, and then read from start to end,
/// any number of times. They grow by extents of the file, so their lengths need not be known in advance.
/// Different streams may be used by different threads.
class ScratchStreams {
 public:
  class Writer;
  class Reader;
  struct Stream {
    Vector<int64_t, Tag::blocks> extents = {};  // Offsets in the file.
    int64_t bytes = 0;
  };

  /// `extent` is the length of an extent and of the buffer of each reader or writer, a multiple of
  /// ScratchFile::kAlignment. `file` must outlive this object, which may use all of it.
  ScratchStreams(ScratchFile& file, int64_t extent) : file_(file), extent_(extent) {}
  int64_t bytes_read() const { return read_; }
  int64_t bytes_written() const { return written_; }

 private:
  int64_t take();
  void give_back(int64_t extent);

  ScratchFile& file_;
  const int64_t extent_;
  std::atomic<int64_t> read_ = 0;
  std::atomic<int64_t> written_ = 0;
  Mutex mutex_;
  int64_t end_ PLIMSOLL_GUARDED_BY(mutex_) = 0;  // End of the extents that have ever been allocated.
  Vector<int64_t, Tag::blocks> free_ PLIMSOLL_GUARDED_BY(mutex_);
};

/// Appends to a stream, which is complete after finish(). `streams` and `stream` must outlive this object.
class ScratchStreams::Writer {
 public:
  /// Errors: BudgetExceeded.
  Writer(ScratchStreams& streams, Stream& stream)
      : streams_(&streams), stream_(&stream), buffer_(Tag::blocks, streams.extent_) {}
  /// Appends bytes. Errors: ScratchStreamsFull; those of ScratchFile; BudgetExceeded.
  void put(std::span<const std::byte> bytes);
  /// Writes the remaining bytes and frees the buffer. Nothing may be appended afterwards. Errors: those of
  /// put().
  void finish();

 private:
  void flush();

  ScratchStreams* streams_;
  Stream* stream_;
  MappedBytes buffer_;
  int64_t filled_ = 0;
};

/// Reads a stream from its start. `streams` and `stream` must outlive this object.
class ScratchStreams::Reader {
 public:
  /// `frees`: each extent is freed for reuse once it is read, so the stream can be read only once. Errors:
  /// BudgetExceeded.
  Reader(ScratchStreams& streams, Stream& stream, bool frees)
      : streams_(&streams), stream_(&stream), frees_(frees), buffer_(Tag::blocks, streams.extent_) {}
  bool at_end() const { return next_byte_ == stream_->bytes && at_ == filled_; }
  /// Reads the next to.size() bytes. Errors: those of ScratchFile; Failure at the end of the stream;
  /// BudgetExceeded.
  void get(std::span<std::byte> to) {
    if (filled_ - at_ < static_cast<int64_t>(to.size())) return get_across(to);
    std::copy_n(buffer_.data() + at_, to.size(), to.data());
    at_ += static_cast<int64_t>(to.size());
  }

 private:
  void get_across(std::span<std::byte> to);
  void fill();

  ScratchStreams* streams_;
  Stream* stream_;
  bool frees_;
  MappedBytes buffer_;
  int64_t at_ = 0;
  int64_t filled_ = 0;
  int64_t next_byte_ = 0;  // Byte of the stream that is read next from the file.
};

}  // namespace plimsoll
