#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace plimsoll {

/// Feature rows of a source. A caller that holds some rows elsewhere, for example on a device, can leave them
/// out of the source's blocks; they are then not read (GraphBlock::row_place). Changes wait for running calls
/// of BlockSource::read() and drop the source's cache.
class FeatureRows {
 public:
  virtual ~FeatureRows() = default;

  /// Returns the number of feature rows.
  virtual int64_t count() const = 0;
  /// Leaves up to `max` rows out of blocks from now on: the rows used most in some of the run's blocks. Call
  /// it after BlockSource::shapes(). Rows with a number that is not finite, or whose square is not finite,
  /// stay in blocks, so that checks find them there. Reads the left-out rows in ascending order into the
  /// start of `buffer`, which has space for at least one: f32 [n, F], as many at a time as fit, with a call
  /// of take(n) each time. Returns the number of left-out rows. Errors: those of RowReader::read(),
  /// BudgetExceeded, Interrupted; blocks then have all rows.
  using Take = std::function<void(int64_t rows)>;
  virtual int64_t leave_out(int64_t max, std::span<float> buffer, const Take& take) const = 0;
  /// Makes blocks contain all rows again.
  virtual void put_back() const = 0;
  /// Returns the greatest absolute value in the left-out rows; 0 if there are none.
  virtual float greatest_left_out() const = 0;
};

}  // namespace plimsoll
