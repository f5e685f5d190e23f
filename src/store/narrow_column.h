#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "memory/vector.h"
#include "store/data_set.h"

namespace plimsoll {

/// How to store a column of features: in `type`, with rounding if needed. If `type` is not set, in the
/// narrowest type that keeps every bit of every value.
struct StoredAs {
  std::optional<NumberType> type = NumberType::f32;
  /// [F], only for i8; memory that this object does not own. If empty, the scale of each feature is its
  /// maximum magnitude divided by 127, or there is no scale if i8 can represent every value.
  std::span<const float> scale = {};
  /// Largest error of values that were rounded to `type` before they are given; 0: they are the original
  /// ones.
  float error_before = 0;

  /// Parses "auto", "f32", "f16", "bf16" or "i8". Errors: UsageError.
  static StoredAs parse(const std::string& word);
};

/// Observes the rows of an f32 column [rows, F] while they are written, and then stores it in a narrow type.
/// Not thread-safe.
class NarrowColumn {
 public:
  explicit NarrowColumn(StoredAs requested = {}) : requested_(requested) {}

  /// Observes the next whole rows. Errors: BudgetExceeded.
  void look_at(std::span<const float> values, int64_t features);
  /// Stores the complete column `name` in the chosen or requested type, and the scales of i8, if any, as
  /// another column (scale_column()). Returns its entry in the manifest: {"type", "exact", "xxh3_f32"}, and
  /// "largest_error" if values were rounded; null if the column stays f32. The scale of StoredAs must still
  /// be valid. Errors: Failure (disk), InputError (a value that the type cannot hold), BudgetExceeded.
  Json store(DataSetWriter& set, const std::string& name);

 private:
  std::optional<NumberType> chosen() const;

  StoredAs requested_;
  int64_t features_ = 0;
  // Whether each type can represent every value so far.
  bool u8_ = true, i8_ = true, f16_ = true, bf16_ = true;
  Vector<float, Tag::output> largest_;  // [F] maximum magnitudes, for i8.
};

/// Returns XXH3-64 of a column [rows, F] converted to f32. It must equal "xxh3_f32" of a narrow column.
std::string f32_checksum(const DataSetView& set, const std::string& name);

}  // namespace plimsoll
