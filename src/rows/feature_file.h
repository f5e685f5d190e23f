#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "io/row_reader.h"
#include "store/data_set.h"
#include "store/row_values.h"

namespace plimsoll {

/// Describes a file of rows of equal length, stored as f32 or narrower.
struct FeatureFile {
  std::filesystem::path path;
  int64_t offset = 0;  ///< Byte offset of the first row.
  int64_t rows = 0;
  int64_t width = 0;                      ///< Values per row, F.
  std::optional<FileIdentity> file = {};  ///< Same as in RowLayout.
  RowValues values = {.width = width};    ///< Storage format of a row.

  RowLayout layout() const {
    const int64_t row_bytes = values.row_bytes();
    return {offset, row_bytes, rows, row_bytes, file};
  }
  /// Describes a column [N, F] of a data set. Errors: those of RowValues::of().
  static FeatureFile column(const DataSetView& set, const std::string& name);
};

}  // namespace plimsoll
