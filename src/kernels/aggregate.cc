#include "kernels/aggregate.h"

namespace plimsoll {

// One file a level.
extern const Aggregate<float> aggregate_portable_f32;
extern const Aggregate<double> aggregate_portable_f64;
extern const Aggregate<float> aggregate_avx2_f32;
extern const Aggregate<double> aggregate_avx2_f64;
extern const Aggregate<float> aggregate_avx512_f32;
extern const Aggregate<double> aggregate_avx512_f64;

template <>
Aggregate<float> aggregate_kernel(Level level) {
  if (level == Level::avx512) return aggregate_avx512_f32;
  return level == Level::avx2 ? aggregate_avx2_f32 : aggregate_portable_f32;
}

template <>
Aggregate<double> aggregate_kernel(Level level) {
  if (level == Level::avx512) return aggregate_avx512_f64;
  return level == Level::avx2 ? aggregate_avx2_f64 : aggregate_portable_f64;
}

}  // namespace plimsoll
