#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "io/aligned_file.h"
#include "memory/vector.h"

namespace plimsoll {

/// A stretch of a file that is read in one go.
struct Extent {
  int64_t offset = 0;  ///< In bytes, a multiple of the file's alignment.
  int64_t bytes = 0;   ///< In bytes, a multiple of the file's alignment.
  /// Leading bytes of the extent that the file must contain. The file may end after them.
  int64_t needed = 0;
  int64_t first = 0;  ///< The extent contains the items first .. last-1 of the request.
  int64_t last = 0;
};

/// Minimum bytes of an extent for which it is extended to whole pages. A long read that begins in the middle
/// of a page is slower by a third (bench/results/giant.md).
inline constexpr int64_t kLongExtent = 4 * 4096;

/// Buffers of equal size for extents, aligned to pages if `bytes` is a multiple of the page size, in one
/// allocation (Tag::cache). Errors: BudgetExceeded.
class ReadBuffers {
 public:
  ReadBuffers(int count, int64_t bytes);
  static int64_t taken(int count, int64_t bytes) {
    return count * bytes + kPage;
  }  ///< Bytes entered in the ledger.
  int count() const { return count_; }
  int64_t bytes() const { return bytes_; }  ///< Bytes of one buffer.
  std::byte* operator[](int buffer) { return first_ + buffer * bytes_; }

 private:
  static constexpr int64_t kPage = 4096;

  Vector<std::byte, Tag::cache> memory_;
  std::byte* first_;
  int count_;
  int64_t bytes_;
};

/// Reads many extents of one file. Only one call of read() may run at a time.
class ExtentReader {
 public:
  /// Sets the next extent to read, no longer than a buffer. Returns false if there are no more. Called by one
  /// thread at a time, and never again after it has thrown.
  using Next = std::function<bool(Extent&)>;
  /// Receives the bytes of an extent, which are valid only during the call. May be called on several threads
  /// at once, in any order. Must not throw.
  using Use = std::function<void(const Extent&, const std::byte*)>;

  virtual ~ExtentReader() = default;
  /// Reads all extents that `next` sets. Errors: Failure (a disk error, with file, offset and reason; an
  /// extent longer than a buffer), InputError (the file ends early), and those of `next`. When it throws, no
  /// read is under way.
  virtual void read(const Next& next, const Use& use) = 0;
};

/// Reads by io_uring, with up to `buffers` reads under way. Returns null if the kernel refuses a ring. `file`
/// must outlive the reader. Errors: BudgetExceeded. If the ring fails later, read() throws Failure, and its
/// next call makes another ring.
std::unique_ptr<ExtentReader> make_ring_reader(const AlignedFile& file, int buffers, int64_t buffer_bytes);

/// Upper bound of the stack bytes that a reading thread touches. Measurements gave 7 to 8 KiB.
constexpr int64_t kPoolStackBytes = 12 * 1024;

/// Reads by pread, with one thread per buffer, including the caller's. The stacks of the threads are in the
/// ledger. `file` must outlive the reader. Errors: BudgetExceeded, ThreadRefused.
std::unique_ptr<ExtentReader> make_pool_reader(const AlignedFile& file, int buffers, int64_t buffer_bytes);

/// Throws Failure if an extent is longer than a buffer, because reading it would overwrite the next buffer.
void require_room(const AlignedFile& file, const Extent& extent, int64_t buffer_bytes);

/// Handles the result of a read that continued an extent after its first `done` bytes. `got` is the number of
/// bytes read, or -errno. Adds it to `done`. Returns true if the extent is complete, false if the rest must
/// be read. Errors: those of read().
bool advance(const AlignedFile& file, const Extent& extent, int64_t& done, int64_t got);

}  // namespace plimsoll
