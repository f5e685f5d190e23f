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

/// Asynchronous writes to a scratch file: by io_uring, or one by one if the kernel refuses a ring. Not
/// thread-safe. Errors of all members: those of ScratchFile, for any earlier write.
class WriteBehind {
 public:
  /// Makes `buffers` buffers of `bytes` bytes (Tag::cache), a multiple of ScratchFile::kAlignment. Up to
  /// `under_way` of them are being written at a time. `file` must outlive it.
  WriteBehind(ScratchFile& file, int64_t buffers, int64_t bytes, int under_way);
  /// Waits for the writes under way.
  ~WriteBehind();
  WriteBehind(const WriteBehind&) = delete;
  WriteBehind& operator=(const WriteBehind&) = delete;

  int64_t buffer_bytes() const { return bytes_; }
  /// Returns a buffer that belongs to the caller until it is passed to write(). Waits for one. At least one
  /// must not belong to the caller.
  std::byte* take();
  /// Starts writing the first bytes of a buffer from take().
  void write(std::byte* buffer, int64_t offset, int64_t bytes);
  /// Waits until everything is written.
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
  std::unique_ptr<Ring> ring_;  // Null for writes one by one.
};

}  // namespace plimsoll
