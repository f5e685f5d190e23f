#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "io/ring.h"
#include "io/scratch_file.h"
#include "memory/mapped_bytes.h"

namespace plimsoll {

/// Asynchronous writes to a scratch file, by io_uring, or one at a time if the kernel refuses a ring. Not
/// thread-safe. Each member function throws the errors of ScratchFile, including those of earlier writes.
class WriteBehind {
 public:
  /// Makes `buffers` buffers of `bytes` bytes (Tag::cache), a multiple of ScratchFile::kAlignment. At most
  /// `under_way` of them are written at the same time. `file` must outlive this object. Errors:
  /// BudgetExceeded.
  WriteBehind(ScratchFile& file, int64_t buffers, int64_t bytes, int under_way);
  /// Waits for the writes under way and ignores their errors.
  ~WriteBehind();
  WriteBehind(const WriteBehind&) = delete;
  WriteBehind& operator=(const WriteBehind&) = delete;

  int64_t buffer_bytes() const { return bytes_; }
  /// Returns a buffer, which belongs to the caller until it is passed to write(). Waits until a buffer is
  /// free. Errors: also Failure if the caller already owns all buffers.
  std::byte* take();
  /// Starts writing the first `bytes` bytes of a buffer from take(), or writes them at once without a ring.
  /// `offset` and `bytes` are multiples of ScratchFile::kAlignment. The buffer no longer belongs to the
  /// caller, also after an error.
  void write(std::byte* buffer, int64_t offset, int64_t bytes);
  /// Waits until everything is written. Does not sync the file.
  void finish();

 private:
  struct Write {
    std::byte* buffer = nullptr;  // Null if the write is done.
    int64_t offset = 0;
    int64_t bytes = 0;
  };
  int under_way() const { return static_cast<int>(writes_.size() - free_writes_.size()); }
  void reap(bool wait);
  void complete(size_t id, int64_t written);

  ScratchFile& file_;
  int64_t bytes_;
  MappedBytes memory_;
  std::vector<std::byte*> free_;
  std::vector<Write> writes_;        // Indexed by id.
  std::vector<size_t> free_writes_;  // Indices into writes_.
  std::exception_ptr error_;
  std::unique_ptr<Ring> ring_;  // Null if writes are done one at a time.
};

}  // namespace plimsoll
