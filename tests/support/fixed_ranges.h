#pragma once

#include "sample/block/block_runner.h"

namespace plimsoll {

/// The same range for every block; tensors go where there is room.
class FixedRanges : public RangePlanner {
 public:
  explicit FixedRanges(int64_t bytes) : bytes_(bytes) {}
  void plan(std::span<const int64_t>, RangePlan& plan) const override { plan = {bytes_, {}}; }

 private:
  int64_t bytes_;
};

}  // namespace plimsoll
