#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <vector>

#include "io/scratch_file.h"

namespace plimsoll {

/// While it exists, the buffers of libarrow are in a file without a name instead of in memory, and the cap of
/// the ledger grows by them. A pass over tables then shows in the marks of the ledger what it needs, without
/// the memory for it. One at a time.
class ArrowOverflow {
 public:
  /// Makes the file in a folder. Errors: Failure (disk, or a folder in memory).
  explicit ArrowOverflow(const std::filesystem::path& folder);
  /// All buffers must have been released.
  ~ArrowOverflow();
  ArrowOverflow(const ArrowOverflow&) = delete;
  ArrowOverflow& operator=(const ArrowOverflow&) = delete;

  /// Returns memory of the file, or nullptr if the disk is full.
  void* allocate(int64_t bytes);
  void release(void* piece, int64_t bytes);

  bool has(const void* piece) const { return piece >= begin_ && piece < begin_ + end_; }

  /// Adds to the cap of the ledger.
  static void raise_cap(int64_t bytes);
  /// Returns the one that exists, or nullptr.
  static ArrowOverflow* current();

 private:
  int descriptor_;
  std::byte* begin_;
  int64_t end_ = 0;
  std::map<int64_t, std::vector<void*>> free_;  // Released pieces, by size.
};

}  // namespace plimsoll
