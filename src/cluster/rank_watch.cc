#include "cluster/rank_watch.h"

#include <algorithm>

namespace plimsoll {
namespace {

double seconds_of(int64_t nanoseconds) {
  return std::chrono::duration<double>(std::chrono::nanoseconds(nanoseconds)).count();
}

}  // namespace

void RankWatch::begin_step() {
  const int64_t start = now();
  if (longest_step_ == 0) longest_step_ = start - made_;
  step_since_ = start;
}

void RankWatch::end_step() {
  longest_step_ = std::max<int64_t>(longest_step_, now() - step_since_);
  step_since_ = 0;
}

RankWatch::State RankWatch::state() const {
  const int64_t since = waiting_since_;
  return {.waiting_s = since == 0 ? 0 : seconds_of(now() - since),
          .in_step = step_since_ != 0,
          .longest_step_s = seconds_of(longest_step_)};
}

}  // namespace plimsoll
