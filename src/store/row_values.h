#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/number_type.h"
#include "memory/vector.h"

namespace plimsoll {

class DataSetView;

/// How the rows of a column of features are stored: numbers of a type, each times the scale of its column
/// where there is one (docs/formats/graph.md#narrow-features). Rows are f32 to whoever reads them.
/// Thread-safe.
struct RowValues {
  NumberType type = NumberType::f32;
  int64_t width = 0;                                                   ///< F
  std::shared_ptr<const Vector<float, Tag::columns>> scale = nullptr;  ///< [F], or none

  /// Bytes of a row as it is stored.
  int64_t row_bytes() const { return width * bytes_of(type); }
  /// Widens whole rows, to.size() / F of them one after the other, which do not overlap `to`.
  void widen(const std::byte* from, std::span<float> to) const;
  /// Where the same rows have to lie in the memory that they are to fill, and their widening there.
  std::byte* packed_in(std::span<float> rows) const;
  void widen_in_place(std::span<float> rows) const;

  /// Of a column [rows, F] of a data set. Errors: InputError (no such column; its dtype or shape; a scale
  /// that is not [F]), BudgetExceeded.
  static RowValues of(const DataSetView& set, const std::string& column);
};

/// The column that holds the scale of another.
std::string scale_column(const std::string& column);

}  // namespace plimsoll
