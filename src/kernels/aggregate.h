#pragma once

#include <cstdint>

#include "kernels/level.h"

namespace plimsoll {

/// Sums over neighbours, the product of a sparse matrix with rows of features:
///
///     out[r] = row_scale[r] * sum of edge_scale[edge[p]] * entry_scale[index[p]] * x[index[p]]
///              + base_scale * base[r] + bias
///
/// for p in ptr[r] .. ptr[r+1]-1. x [S, F], base and out [R, F] in C order, ptr [R + 1], index and edge
/// [ptr[R]], bias [F]; each scale may be null, which is 1 everywhere, and so may base, which may be out, and
/// bias.
template <typename T>
struct AggregateInput {
  const T* x = nullptr;
  const int32_t* ptr = nullptr;
  const int32_t* index = nullptr;
  const int32_t* edge = nullptr;  ///< read with edge_scale alone
  const T* entry_scale = nullptr;
  const T* edge_scale = nullptr;
  const T* row_scale = nullptr;
  const T* base = nullptr;
  T base_scale = 1;
  const T* bias = nullptr;
  int64_t features = 0;
};

/// A call works on the rows begin .. end-1 and touches nothing else, and adds neighbours in order: the same
/// bits however rows are shared out. T is float or double.
template <typename T>
using Aggregate = void (*)(const AggregateInput<T>& in, int64_t begin, int64_t end, T* out);

template <typename T>
const Aggregate<T>& aggregate_kernel(Level level);

}  // namespace plimsoll
