#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "ingest/text/delimited.h"
#include "ingest/text/line_reader.h"

namespace plimsoll {

/// Whether the first bytes of a file, unpacked, may be text: no control characters but tabs and line ends.
bool begins_as_text(const std::filesystem::path& path);

/// Rows of numbers in a text without a header, such as node-feat.csv.gz of OGB, read in order. Not
/// thread-safe. Errors: InputError with file, line and column; BudgetExceeded.
class TextRows {
 public:
  explicit TextRows(const std::filesystem::path& path);

  size_t columns() const { return format_.columns.size(); }
  /// Reads the next row, which must have as many fields as the first; returns false at the end.
  bool next();
  /// A field of the current row, valid until next().
  std::string_view field(size_t column) const { return fields_[column]; }
  /// The position of the current row, for errors.
  const LineReader& at() const { return lines_; }

 private:
  Delimited format_;
  LineReader lines_;
  std::vector<std::string_view> fields_;
};

}  // namespace plimsoll
