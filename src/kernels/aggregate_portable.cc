#include "kernels/aggregate_rows.h"

namespace plimsoll {

extern const Aggregate<float> aggregate_portable_f32 = AggregateRows<float, 4>::run;
extern const Aggregate<double> aggregate_portable_f64 = AggregateRows<double, 2>::run;

}  // namespace plimsoll
