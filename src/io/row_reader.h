#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

#include "io/read_way.h"

namespace plimsoll {

/// Rows of equal length, one behind the other in a file: those of a .npy, say.
struct RowLayout {
  int64_t offset = 0;  ///< of the first row, in bytes
  int64_t row_bytes = 0;
  int64_t rows = 0;
};

/// A row that is wanted, and the row_bytes bytes of the caller that it goes to.
struct WantedRow {
  int64_t row = 0;
  std::byte* data = nullptr;
};

/// What reading has cost so far.
struct ReadCounts {
  int64_t reads = 0;         ///< pieces asked of the file
  int64_t bytes_read = 0;    ///< in them
  int64_t bytes_wanted = 0;  ///< of rows, each once a call
};

/// Reads scattered rows of a file that does not fit into memory: each row once, in the order of the file, and
/// neighbours in one read. Nothing is allocated after the constructor. Not thread-safe.
class RowReader {
 public:
  struct Options {
    std::optional<ReadWay> way;          ///< choose_way() where none is given
    int64_t buffer_bytes = 1024 * 1024;  ///< Tag::cache; more where a single row takes more
    int64_t longest_gap = 2048;          ///< between rows that are still read in one piece, in bytes
  };

  /// Errors: InputError (no such file, or shorter than `layout` says), UsageError (PLIMSOLL_READ),
  /// Failure (the way that was asked for is refused here), BudgetExceeded.
  RowReader(const std::filesystem::path& path, const RowLayout& layout, const Options& options);
  RowReader(const std::filesystem::path& path, const RowLayout& layout);

  /// Fills in all rows and leaves `wanted` sorted by row; rows may be wanted more than once. Errors:
  /// InputError (no such row; the file has been cut short), Failure (the disk's, with file and offset); what
  /// the rows' memory holds is undefined then, and the reader can go on.
  void read(std::span<WantedRow> wanted);

  const RowLayout& layout() const { return layout_; }
  ReadWay way() const { return way_; }
  const ReadCounts& counts() const { return counts_; }

 private:
  void require(int64_t row) const;
  bool next(std::span<const WantedRow> wanted, Extent& extent) const;

  RowLayout layout_;
  int64_t longest_gap_;
  int64_t longest_extent_ = 0;
  ReadWay way_;
  OpenedWay opened_;
  ReadCounts counts_;
};

}  // namespace plimsoll
