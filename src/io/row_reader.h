#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>

#include "io/file.h"
#include "io/read_way.h"

namespace plimsoll {

/// Rows of equal length, one after the other in a file: those of a .npy, say, or pages of one.
struct RowLayout {
  int64_t offset = 0;  ///< of the first row, in bytes
  int64_t row_bytes = 0;
  int64_t rows = 0;
  int64_t last_row_bytes = row_bytes;     ///< the last one may be shorter
  std::optional<FileIdentity> file = {};  ///< that it has to be; none: whichever has the name

  int64_t bytes_of(int64_t row) const { return row == rows - 1 ? last_row_bytes : row_bytes; }
  /// Where a row ends in the file.
  int64_t end_of(int64_t row) const { return offset + row * row_bytes + bytes_of(row); }
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
    int64_t longest_piece = 4096;        ///< up to which rows are read together, in bytes
  };

  /// Errors: InputError (no such file, or another or shorter one than `layout` says), UsageError
  /// (PLIMSOLL_READ), Failure (the way that was asked for is refused here), BudgetExceeded.
  RowReader(const std::filesystem::path& path, const RowLayout& layout, const Options& options);
  RowReader(const std::filesystem::path& path, const RowLayout& layout);

  /// Fills in all rows and leaves `wanted` sorted by row; rows may be wanted more than once. Errors:
  /// InputError (no such row; the file has been cut short), Failure (the disk's, with file and offset); what
  /// the rows' memory holds is undefined then, and the reader can go on.
  void read(std::span<WantedRow> wanted);
  /// What becomes of a row: its bytes are gone when it returns. Maybe called on several threads at once, in
  /// any order. May not throw.
  using Use = std::function<void(const WantedRow&, const std::byte*)>;
  /// The same where rows need not be copied: use(wanted row, its bytes) for each of them.
  void read(std::span<WantedRow> wanted, const Use& use);

  const RowLayout& layout() const { return layout_; }
  ReadWay way() const { return way_; }
  int64_t buffer_bytes() const { return opened_.buffer_bytes; }  ///< that it took of the ledger
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
