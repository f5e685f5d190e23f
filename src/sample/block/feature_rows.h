#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace plimsoll {

/// Feature rows of a source. A user that holds some rows elsewhere, for example on a device, can have them
/// left out of the source's blocks; they are then not read (GraphBlock::row_place). Changes wait for calls of
/// BlockSource::read() and drop the source's cache.
class FeatureRows {
 public:
  virtual ~FeatureRows() = default;

  virtual int64_t count() const = 0;
  /// Leaves up to `max` rows out of blocks from now on: those used most in some of the run's blocks, after
  /// BlockSource::shapes(). Rows with a number that is not finite, or whose square is not finite, stay in
  /// blocks, so that checks find them there. Reads the rows into the start of `buffer`, which has space for
  /// at least one, in the order of their numbers: f32 [n, F], as many at a time as fit, and calls take(n)
  /// each time. Returns the number of rows. Errors: those of RowReader::read(), BudgetExceeded, Interrupted;
  /// blocks then have all rows.
  using Take = std::function<void(int64_t rows)>;
  virtual int64_t leave_out(int64_t max, std::span<float> buffer, const Take& take) const = 0;
  /// Returns to blocks with all rows.
  virtual void put_back() const = 0;
  /// Greatest magnitude in the rows that are left out.
  virtual float greatest_left_out() const = 0;
};

}  // namespace plimsoll
