#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>

#include "rows/next_use_order.h"
#include "rows/row_table.h"

namespace plimsoll {

/// The rows that coming batches want, and for each the batch that wants it next. Batches are appended as they
/// become known and leave from the front; what is between is the horizon. Its memory (Tag::cache) is 12 bytes
/// a row of each batch, and 22 to 43 for each that is different. Not thread-safe.
class RowPlan {
 public:
  struct Batch {
    int32_t number = 0;                    ///< 0 for the first that was ever appended
    Vector<int64_t, Tag::cache> rows;      ///< all different
    Vector<int32_t, Tag::cache> next_use;  ///< [rows] the number of the batch that next wants it, or kNever
  };
  /// Told of each row that no batch of the plan wanted so far, with the number of the one that does now.
  using FirstUse = std::function<void(int64_t row, int32_t batch)>;

  /// Appends a batch. Errors: BudgetExceeded, with nothing changed; Failure (a row twice), the plan being of
  /// no use then.
  void append(std::span<const int64_t> rows, const FirstUse& first_use);
  bool empty() const { return batches_.empty(); }
  const Batch& front() const { return batches_.front(); }
  const std::deque<Batch>& batches() const { return batches_; }
  void pop();

 private:
  struct Place {  // in batches_: the number of a batch, and of a row in it
    int32_t batch;
    int32_t index;
  };
  std::deque<Batch> batches_;
  RowTable<Place> last_use_;  // of all rows in batches_
  int32_t appended_ = 0;
};

/// The fewest misses that any cache of `slots` rows can have in the batches of a plan, the rows of a batch
/// being used at once, given that of what it holds `held(batch)` rows are next used in that batch: Belady's.
/// A row that is kept from one use to the next saves a miss and takes a slot in between; where there are more
/// than slots, the one that would be kept longest is given up.
int64_t fewest_misses(const RowPlan& plan, int64_t slots, const std::function<int64_t(int32_t batch)>& held);

}  // namespace plimsoll
