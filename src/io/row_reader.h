#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>

#include "io/file.h"
#include "io/read_method.h"

namespace plimsoll {

/// Consecutive rows of equal length in a file, for example those of a .npy file, or the pages of a file.
struct RowLayout {
  int64_t offset = 0;  ///< Offset of the first row, in bytes.
  int64_t row_bytes = 0;
  int64_t rows = 0;
  int64_t last_row_bytes = row_bytes;     ///< The last row may be shorter.
  std::optional<FileIdentity> file = {};  ///< The expected file; nullopt accepts any file at the path.

  int64_t bytes_of(int64_t row) const { return row == rows - 1 ? last_row_bytes : row_bytes; }
  /// Returns the offset in the file where a row ends.
  int64_t end_of(int64_t row) const { return offset + row * row_bytes + bytes_of(row); }
};

/// A requested row, and the memory for its bytes (RowLayout::bytes_of()). `data` may be null if the row is
/// only used, not copied.
struct WantedRow {
  int64_t row = 0;
  std::byte* data = nullptr;
};

/// Reads made so far.
struct ReadCounts {
  int64_t reads = 0;         ///< Number of extents read.
  int64_t bytes_read = 0;    ///< Bytes of these extents.
  int64_t bytes_wanted = 0;  ///< Bytes of requested rows, each counted once per call.
};

/// Reads scattered rows of a file that does not fit into memory. Each row is read once per call, in file
/// order, and adjacent rows in one read. The buffers are allocated by the constructor. Not thread-safe.
class RowReader {
 public:
  struct Options {
    std::optional<ReadMethod> way;  ///< Method of reading; unset: choose_method() decides.
    /// Bytes of the buffers (Tag::cache). More are used if a single row needs them.
    int64_t buffer_bytes = 1024 * 1024;
    int64_t longest_gap = 2048;  ///< Maximum bytes between two rows that are read at once.
    /// Maximum bytes of one read, gaps included. A longer row is read alone.
    int64_t longest_piece = 4096;
  };

  /// Opens the file. If a method that was chosen, not requested, is refused, pread is used; see method().
  /// Errors: InputError (no such file, or not the one that `layout` describes, or a shorter one), UsageError
  /// (PLIMSOLL_READ), Failure (the system refuses the requested method, or the file cannot be opened),
  /// BudgetExceeded, ThreadRefused.
  RowReader(const std::filesystem::path& path, const RowLayout& layout, const Options& options);
  RowReader(const std::filesystem::path& path, const RowLayout& layout);

  /// Reads all rows and leaves `wanted` sorted by row. A row may occur more than once. Errors: InputError (no
  /// such row; the file has been truncated), Failure (a disk error, with file and offset). After an error,
  /// the content of the rows' memory is undefined, but the reader can be used again.
  void read(std::span<WantedRow> wanted);
  /// Receives a row, whose bytes are valid only during the call. May be called on several threads at once, in
  /// any order. Must not throw.
  using Use = std::function<void(const WantedRow&, const std::byte*)>;
  /// Reads rows without copying them: calls use(wanted row, its bytes) for each. Sorts `wanted` and throws as
  /// the other read() does.
  void read(std::span<WantedRow> wanted, const Use& use);

  const RowLayout& layout() const { return layout_; }
  ReadMethod method() const { return method_; }
  int64_t buffer_bytes() const { return opened_.buffer_bytes; }  ///< Bytes entered in the ledger.
  const ReadCounts& counts() const { return counts_; }

 private:
  void require(int64_t row) const;
  bool next(std::span<const WantedRow> wanted, Extent& extent) const;

  RowLayout layout_;
  int64_t longest_gap_;
  int64_t longest_extent_ = 0;
  ReadMethod method_;
  OpenedMethod opened_;
  ReadCounts counts_;
};

}  // namespace plimsoll
