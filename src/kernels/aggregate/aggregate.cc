#include "kernels/aggregate/aggregate.h"

#include "kernels/levels.h"

namespace plimsoll {

PLIMSOLL_DECLARE_LEVELS(aggregate_f32, Aggregate<float>)
PLIMSOLL_DECLARE_LEVELS(aggregate_f64, Aggregate<double>)

template <>
const Aggregate<float>& aggregate_kernel(Level level) {
  return PLIMSOLL_AT_LEVEL(level, aggregate_f32);
}

template <>
const Aggregate<double>& aggregate_kernel(Level level) {
  return PLIMSOLL_AT_LEVEL(level, aggregate_f64);
}

}  // namespace plimsoll
