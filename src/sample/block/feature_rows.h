#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace plimsoll {

/// Rows of features of a source, of which whoever has some elsewhere, as on a device, takes them out of the
/// source's blocks: they are then not read for a block (GraphBlock::row_place). What changes them waits for
/// calls of BlockSource::read(), and gives up the source's cache.
class FeatureRows {
 public:
  virtual ~FeatureRows() = default;

  virtual int64_t count() const = 0;
  /// From now on blocks come without up to `most` rows: those that are used most in some of the run's blocks,
  /// after BlockSource::shapes(), but none with a number that is not finite, or has no finite square, so that
  /// whoever looks for such finds them in blocks. They are read into the start of `buffer`, which has room
  /// for one at least, in the order of their numbers: f32 [n, F], as many at a time as it holds, and take(n)
  /// is called. Returns how many. Errors: those of RowReader::read(), BudgetExceeded, Interrupted; blocks
  /// then have all rows.
  using Take = std::function<void(int64_t rows)>;
  virtual int64_t leave_out(int64_t max, std::span<float> buffer, const Take& take) const = 0;
  /// From now on they have all rows.
  virtual void put_back() const = 0;
  /// The greatest magnitude in rows that are left out.
  virtual float greatest_left_out() const = 0;
};

}  // namespace plimsoll
