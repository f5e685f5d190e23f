#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "io/aligned_file.h"
#include "memory/vector.h"

namespace plimsoll {

/// A stretch of a file that is read in one piece.
struct Extent {
  int64_t offset = 0;  ///< in bytes, a multiple of the file's alignment
  int64_t bytes = 0;   ///< likewise
  int64_t needed = 0;  ///< of these from the start, what has to be there: the file may end after it
  int64_t first = 0;   ///< first .. last-1 of what was asked for lie in it
  int64_t last = 0;
};

/// A long read is slower by a third where it begins in the middle of a page (bench/results/giant.md): an
/// extent of so many bytes or more is made one of whole pages.
inline constexpr int64_t kLongExtent = 4 * 4096;

/// Equal pieces of one buffer (Tag::cache), aligned to pages, that extents are read into.
class ReadBuffers {
 public:
  ReadBuffers(int count, int64_t bytes);
  static int64_t taken(int count, int64_t bytes) {
    return count * bytes + kPage;
  }  ///< of the ledger, in bytes
  int count() const { return count_; }
  int64_t bytes() const { return bytes_; }  ///< of one
  std::byte* operator[](int buffer) { return first_ + buffer * bytes_; }

 private:
  static constexpr int64_t kPage = 4096;

  Vector<std::byte, Tag::cache> memory_;
  std::byte* first_;
  int count_;
  int64_t bytes_;
};

/// A way to read many extents of one file at a time. One call at a time.
class ExtentReader {
 public:
  /// The next extent to read, no longer than a buffer; false when there is none. Never called twice at once,
  /// and not again when it has thrown.
  using Next = std::function<bool(Extent&)>;
  /// Gets the bytes of an extent, which are gone when it returns. Maybe called on several threads at once, in
  /// any order. May not throw.
  using Use = std::function<void(const Extent&, const std::byte*)>;

  virtual ~ExtentReader() = default;
  /// Errors: Failure (the disk's, with file, offset and reason; an extent that is longer than a buffer),
  /// InputError (the file ends early), and those of `next`; nothing is being read any more when it throws.
  virtual void read(const Next& next, const Use& use) = 0;
};

/// By io_uring, with as many reads under way as there are buffers. None where the kernel refuses a ring.
/// `file` has to outlive the reader.
std::unique_ptr<ExtentReader> make_ring_reader(const AlignedFile& file, int buffers, int64_t buffer_bytes);

/// Of the stack of a thread that reads, as far as it is touched: 7 to 8 KiB measured.
constexpr int64_t kPoolStackBytes = 12 * 1024;

/// By pread, with a thread for each buffer, the caller's among them; their stacks are in the ledger.
std::unique_ptr<ExtentReader> make_pool_reader(const AlignedFile& file, int buffers, int64_t buffer_bytes);

/// Errors: Failure if an extent is longer than a buffer, into whose neighbour it would be read.
void require_room(const AlignedFile& file, const Extent& extent, int64_t buffer_bytes);

/// What a read of an extent gave: `got` bytes, or -errno, after the `done` that were there. Adds to `done`;
/// true if the extent is complete, false if the rest is to be read. Errors: as those of read().
bool advance(const AlignedFile& file, const Extent& extent, int64_t& done, int64_t got);

}  // namespace plimsoll
