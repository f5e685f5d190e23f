#pragma once

#include "kernels/aggregate/aggregate.h"

namespace plimsoll {

/// Computes the sums of aggregate.h on a CUDA device, all rows in one call, in f32 or f64. in.base and
/// in.bias are not used and should be null. All arrays are in device memory. attention_gpu.h describes the
/// stream, the order of sums, errors, and builds without CUDA.
template <typename T>
void aggregate_cuda(const AggregateInput<T>& in, int64_t rows, T* out, void* stream);

}  // namespace plimsoll
