#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "ingest/text/delimited.h"
#include "ingest/text/line_reader.h"

namespace plimsoll {

/// Returns whether a file may be text: its first 4 KiB, decompressed, have no control characters except white
/// space. Errors: those of InputStream.
bool begins_as_text(const std::filesystem::path& path);

/// Reads, in order, the rows of numbers in a text without a header, such as OGB's node-feat.csv.gz. Not
/// thread-safe. Errors: InputError with file, line and column; Failure; BudgetExceeded.
class TextRows {
 public:
  explicit TextRows(const std::filesystem::path& path);

  size_t columns() const { return format_.columns.size(); }
  /// Reads the next row, which must have as many fields as the first; returns false at the end.
  bool next();
  /// Returns a field of the current row, valid until the next call of next().
  std::string_view field(size_t column) const { return fields_[column]; }
  /// The reader, at the current row, for errors.
  const LineReader& at() const { return lines_; }

 private:
  Delimited format_;
  LineReader lines_;
  std::vector<std::string_view> fields_;
};

}  // namespace plimsoll
