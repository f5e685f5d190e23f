#include "kernels/aggregate_rows.h"

namespace plimsoll {

extern const Aggregate<float> aggregate_avx512_f32 = AggregateRows<float, 16>::run;
extern const Aggregate<double> aggregate_avx512_f64 = AggregateRows<double, 8>::run;

}  // namespace plimsoll
