#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "io/ring.h"
#include "io/scratch_file.h"
#include "memory/mapped_bytes.h"
#include "memory/vector.h"

namespace plimsoll {

/// Lists, in a scratch file, of the rows that batches need. Lists are numbered from 0 in the order of add().
/// Each list is grouped by ranges of the feature file, and an entry is the index of a row within its range.
/// The lists of all batches are read together, for as many ranges as fit into memory, with all these reads
/// under way at the same time. Not thread-safe.
class BatchLists {
 public:
  static constexpr int64_t kMaxRangeRows = 65'536;
  /// Returns the bytes that a list of `rows` rows occupies in the scratch file.
  static int64_t list_bytes(int64_t rows);
  /// Returns the bytes that an object constructed with these arguments enters in the ledger (Tag::cache).
  static int64_t memory_bytes(int64_t buffer_bytes, int64_t max_batches);

  /// `buffer_bytes` is a multiple of ScratchFile::kAlignment, and more than the bytes of the longest list.
  /// `file` must outlive this object. Errors: BudgetExceeded.
  BatchLists(ScratchFile& file, int64_t buffer_bytes, int64_t max_batches);

  /// Removes all lists from memory. The scratch file and bytes_read() are unchanged.
  void clear();
  /// Returns the memory to fill with the next list before add(). fetch() and take() overwrite it.
  std::span<uint16_t> buffer();
  /// Writes the first `rows` rows of buffer() to the file, at offset `at`, a multiple of
  /// ScratchFile::kAlignment. All lists, at most max_batches, must be added before the first fetch(). Errors:
  /// those of ScratchFile.
  void add(int64_t at, int64_t rows);
  /// Prepares the rows of a range for all lists. Call it for every range, in ascending order from 0, and call
  /// take() for every list with rows in a range before fetching the next range. `counts` [lists, ranges] has
  /// the number of rows of each list in each range. Errors: those of ScratchFile.
  void fetch(int64_t range, std::span<const uint32_t> counts);
  /// Returns the rows of a list in the fetched range. `count` must be their number as given to fetch(). The
  /// span is valid until the next call of take() or fetch(). Errors: those of ScratchFile.
  std::span<const uint16_t> take(int64_t list, int64_t count);
  /// Returns the bytes read from the scratch file since construction.
  int64_t bytes_read() const { return bytes_read_; }

 private:
  struct List {
    int64_t next = 0;          // File offset of the first row that has not been fetched.
    int64_t rows = 0;          // Number of rows to fetch next.
    const std::byte* at = {};  // The next fetched row.
  };
  void read(int64_t index, std::byte* to);
  void read_all();
  bool read_with_ring();

  ScratchFile& file_;
  MappedBytes buffer_;
  Vector<List, Tag::cache> lists_;
  Vector<std::byte*, Tag::cache> to_;  // Destination of each list that is read.
  int64_t end_ = 0;                    // Ranges before this one have been fetched.
  // If true, the range does not fit into memory, and take() reads each list separately.
  bool one_by_one_ = false;
  int64_t bytes_read_ = 0;
  std::unique_ptr<Ring> ring_;  // Null if the kernel refuses to create a ring.
};

}  // namespace plimsoll
