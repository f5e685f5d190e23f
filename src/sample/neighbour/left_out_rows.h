#pragma once

#include <cstdint>
#include <span>

#include "memory/vector.h"
#include "rows/direct_rows.h"
#include "rows/row_set.h"
#include "sample/block/block.h"

namespace plimsoll {

/// The rows of a column that are left out of blocks (FeatureRows): the rows that blocks use most. Several
/// threads may read it as long as none changes it.
class LeftOutRows {
 public:
  using Uses = Vector<uint8_t, Tag::columns>;
  /// Leaves no rows out. `uses` is how often some of the run's blocks use each of the `rows` rows. It may be
  /// filled later, and must outlive this object. Errors: BudgetExceeded.
  LeftOutRows(const Uses& uses, int64_t rows) : uses_(uses), set_(rows) {}

  /// Same as FeatureRows::leave_out(). Reads up to `at_once` rows at a time from `rows`, each of `width`
  /// numbers.
  int64_t leave_out(int64_t max, DirectRows& rows, int64_t width, int64_t at_once, std::span<float> buffer,
                    const FeatureRows::Take& take);
  /// Leaves no rows out. Call it when `uses` has changed, too.
  void clear();

  const RowSet& set() const { return set_; }
  /// Returns a copy of `uses` with 0 for rows that are left out, as of the last leave_out() or clear().
  std::span<const uint8_t> other_uses() const { return other_uses_; }
  /// Returns the greatest absolute value in the left-out rows; 0 if there are none.
  float greatest() const { return greatest_; }
  /// Appends the places of the feature rows of `nodes` (GraphBlock::row_place). Call it before the rows of
  /// other nodes, each of `width` numbers, are appended to the block.
  void append_places(std::span<const int64_t> nodes, int64_t width, GraphBlock& block) const;

 private:
  int64_t keep_finite(std::span<const int64_t> rows, int64_t width, std::span<float> buffer);

  const Uses& uses_;
  RowSet set_;
  Uses other_uses_;
  float greatest_ = 0;
};

}  // namespace plimsoll
