#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "io/row_reader.h"
#include "store/data_set.h"
#include "store/row_values.h"

namespace plimsoll {

/// A file of rows of equal length, f32 or narrower.
struct FeatureFile {
  std::filesystem::path path;
  int64_t offset = 0;  ///< of the first row, in bytes
  int64_t rows = 0;
  int64_t width = 0;                      ///< F
  std::optional<FileIdentity> file = {};  ///< as in RowLayout
  RowValues values = {.width = width};    ///< how a row is stored

  RowLayout layout() const {
    const int64_t row_bytes = values.row_bytes();
    return {offset, row_bytes, rows, row_bytes, file};
  }
  /// A column [N, F] of a data set. Errors: those of RowValues::of().
  static FeatureFile column(const DataSetView& set, const std::string& name);
};

}  // namespace plimsoll
