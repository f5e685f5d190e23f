#include "kernels/aggregate_rows.h"

namespace plimsoll {

extern const Aggregate<float> aggregate_avx2_f32 = AggregateRows<float, 8>::run;
extern const Aggregate<double> aggregate_avx2_f64 = AggregateRows<double, 4>::run;

}  // namespace plimsoll
