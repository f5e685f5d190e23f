#pragma once

#include <cstdint>

#include "kernels/level.h"

namespace plimsoll {

/// Sums over neighbours, the product of a sparse matrix with rows of features:
///
///     out[r] = row_scale[r] * sum of entry_scale[index[p]] * x[index[p]]   for p in ptr[r] .. ptr[r+1]-1
///
/// x [S, F] and out [R, F] in C order, ptr [R + 1], index [ptr[R]]; either scale may be null, which is 1
/// everywhere. A call works on the rows begin .. end-1 and touches nothing else, and adds neighbours in
/// order: the same bits however rows are shared out. T is float or double.
template <typename T>
using Aggregate = void (*)(const T* x, const int32_t* ptr, const int32_t* index, const T* entry_scale,
                           const T* row_scale, int64_t features, int64_t begin, int64_t end, T* out);

template <typename T>
const Aggregate<T>& aggregate_kernel(Level level);

}  // namespace plimsoll
