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

/// Writes to a scratch file that are under way while their caller goes on: by io_uring, or one by one where
/// the kernel refuses a ring. Not thread-safe. Errors of all its members: those of ScratchFile, of any write
/// before.
class WriteBehind {
 public:
  /// So many buffers of `bytes` bytes (Tag::cache), a multiple of ScratchFile::kAlignment, of which up to
  /// `under_way` are being written at a time. The file has to outlive it.
  WriteBehind(ScratchFile& file, int64_t buffers, int64_t bytes, int under_way);
  /// Waits for what is under way.
  ~WriteBehind();
  WriteBehind(const WriteBehind&) = delete;
  WriteBehind& operator=(const WriteBehind&) = delete;

  int64_t buffer_bytes() const { return bytes_; }
  /// A buffer of the caller's until it is written; waits for one. There has to be one that is not the
  /// caller's.
  std::byte* take();
  /// Has the first bytes of a buffer that was taken written.
  void write(std::byte* buffer, int64_t offset, int64_t bytes);
  /// Waits until all is written.
  void finish();

 private:
  struct Write {
    std::byte* buffer = nullptr;  // none: it is done
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
  std::vector<Write> writes_;        // by id
  std::vector<size_t> free_writes_;  // of these
  std::exception_ptr error_;
  std::unique_ptr<Ring> ring_;  // none: one by one
};

}  // namespace plimsoll
