#include "sample/neighbour/run_order.h"

#include <algorithm>

namespace plimsoll {

std::optional<int64_t> RunOrder::after(int64_t number) {
  const SeedBlocks::Block block = blocks_->block(number);
  const int64_t per_epoch = blocks_->per_epoch();
  const int64_t next = number + 1;
  if (block.list == 0) {
    last_epoch_ = block.epoch;
    const bool epoch_goes_on = next % per_epoch != 0;
    if (epoch_goes_on) return if_not_over(next);
    if (blocks_->lists().size() > 1) return blocks_->numbers(1).front();
    return if_not_over(next);
  }
  if (next < blocks_->blocks() && blocks_->block(next).list == block.list) return next;
  const int64_t epoch = last_epoch_ * per_epoch;
  if (block.list == 1 && last_epoch_ > 0 && blocks_->block(epoch).list == 0) return if_not_over(epoch);
  return std::nullopt;
}

std::optional<int64_t> RunOrder::if_not_over(int64_t number) const {
  return number < end_ ? std::optional(number) : std::nullopt;
}

bool RunOrder::visit(int64_t number) {
  const bool again = std::ranges::find(visited_, number) != visited_.end();
  visited_.push_back(number);
  if (visited_.size() > kUnderWay) visited_.pop_front();
  return again;
}

}  // namespace plimsoll
