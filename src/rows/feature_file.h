#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "io/row_reader.h"
#include "store/data_set.h"

namespace plimsoll {

/// A file of f32 rows of equal length.
struct FeatureFile {
  std::filesystem::path path;
  int64_t offset = 0;  ///< of the first row, in bytes
  int64_t rows = 0;
  int64_t width = 0;                      ///< F
  std::optional<FileIdentity> file = {};  ///< as in RowLayout

  RowLayout layout() const {
    const int64_t row_bytes = width * int64_t{sizeof(float)};
    return {offset, row_bytes, rows, row_bytes, file};
  }
  /// An f32 column [N, F] of a data set. Errors: InputError (no such column, or another dtype or shape).
  static FeatureFile column(const DataSetView& set, const std::string& name);
};

}  // namespace plimsoll
