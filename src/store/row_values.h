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

/// How the rows of a column of features are stored: as numbers of one type. If there are scales, a value is
/// its stored number times the scale of its feature (docs/formats/graph.md#narrow-features). Readers get rows
/// as f32. Thread-safe.
struct RowValues {
  NumberType type = NumberType::f32;
  int64_t width = 0;                                                   ///< F
  std::shared_ptr<const Vector<float, Tag::columns>> scale = nullptr;  ///< [F], or null.

  /// Bytes of a row as it is stored.
  int64_t row_bytes() const { return width * bytes_of(type); }
  /// Widens to.size() / F whole consecutive rows. `from` needs no alignment. `from` and `to` must not
  /// overlap.
  void widen(const std::byte* from, std::span<float> to) const;
  /// Returns where to put packed rows within the memory of `rows`, before a call of widen_in_place().
  std::byte* packed_in(std::span<float> rows) const;
  /// Widens rows whose packed numbers are at packed_in(rows). Allocates nothing.
  void widen_in_place(std::span<float> rows) const;

  /// Returns the RowValues of a column [rows, F] of a data set. Errors: InputError (no such column; its dtype
  /// or shape; a scale that is not [F], or of another type than i8), BudgetExceeded.
  static RowValues of(const DataSetView& set, const std::string& column);
};

/// Returns the name of the column that has the scale of `column`.
std::string scale_column(const std::string& column);

}  // namespace plimsoll
