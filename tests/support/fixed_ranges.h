#pragma once

#include "sample/block/block_runner.h"

namespace plimsoll {

/// Gives every block the same range. Tensors go wherever they fit.
class FixedRanges : public RangePlanner {
 public:
  explicit FixedRanges(int64_t bytes) : bytes_(bytes) {}
  void plan(std::span<const int64_t>, RangePlan& plan) const override { plan = {bytes_, {}}; }

 private:
  int64_t bytes_;
};

}  // namespace plimsoll
