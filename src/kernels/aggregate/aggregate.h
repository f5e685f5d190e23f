#pragma once

#include <cstdint>

#include "kernels/level.h"

namespace plimsoll {

/// Sums over neighbours, that is, the product of a sparse matrix with rows of features:
///
///     out[r] = row_scale[r] * sum of edge_scale[edge[p]] * entry_scale[index[p]] * x[index[p]]
///              + base_scale * base[r] + bias
///
/// for p in ptr[r] .. ptr[r+1]-1. x is [S, F], base and out are [R, F] in C order, ptr is [R + 1], index and
/// edge are [ptr[R]], bias is [F]. A null scale stands for 1 everywhere. base and bias may be null. base may
/// be the same array as out.
template <typename T>
struct AggregateInput {
  const T* x = nullptr;
  const int32_t* ptr = nullptr;
  const int32_t* index = nullptr;
  const int32_t* edge = nullptr;  ///< Read only if edge_scale is given.
  const T* entry_scale = nullptr;
  const T* edge_scale = nullptr;
  const T* row_scale = nullptr;
  const T* base = nullptr;
  T base_scale = 1;
  const T* bias = nullptr;
  int64_t features = 0;
};

/// Computes the rows begin .. end-1, touches nothing else, and adds neighbours in order, so the bits do not
/// depend on how rows are distributed over threads. T is float or double.
template <typename T>
using Aggregate = void (*)(const AggregateInput<T>& in, int64_t begin, int64_t end, T* out);

template <typename T>
const Aggregate<T>& aggregate_kernel(Level level);

}  // namespace plimsoll
