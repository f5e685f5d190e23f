#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "memory/vector.h"
#include "store/data_set.h"

namespace plimsoll {

/// How a column of features is to be stored. `type` none: in the fewest bits that keep every bit of every
/// value; else in this type, rounded where it has to be.
struct StoredAs {
  std::optional<NumberType> type = NumberType::f32;
  /// [F] of i8; empty: the greatest magnitude of each feature over 127, or none where every value survives.
  std::span<const float> scale = {};

  /// "auto", "f32", "f16", "bf16" or "i8". Errors: UsageError.
  static StoredAs parse(const std::string& word);
};

/// Looks at the rows of an f32 column [rows, F] while they are written, and stores it again in a narrow type.
/// Not thread-safe.
class NarrowColumn {
 public:
  explicit NarrowColumn(StoredAs wanted = {}) : wanted_(wanted) {}

  void look_at(std::span<const float> values, int64_t features);
  /// Once all were written to the column `name`: stores them in the type that was found or is wanted. Gives
  /// what the manifest says of it, {"type", "exact", "xxh3_f32"} and "largest_error" where values were
  /// rounded; null: the column is f32 as it is. Errors: Failure (disk), InputError (a value that the type has
  /// no room for).
  Json store(DataSetWriter& set, const std::string& name);

 private:
  std::optional<NumberType> chosen() const;

  StoredAs wanted_;
  int64_t features_ = 0;
  bool u8_ = true, i8_ = true, f16_ = true, bf16_ = true;  // every value so far survives as it
  Vector<float, Tag::output> largest_;                     // [F] magnitudes, where i8 is wanted
};

/// XXH3-64 of a column as f32, [rows, F]: what "xxh3_f32" of a narrow one has to be.
std::string f32_checksum(const DataSetView& set, const std::string& name);

}  // namespace plimsoll
