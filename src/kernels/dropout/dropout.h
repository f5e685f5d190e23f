#pragma once

#include <cstdint>

#include "base/philox.h"
#include "kernels/level.h"

namespace plimsoll {

// Factors of inverted dropout: 0 with probability p, otherwise 1 / (1 - p). The factor of (row, channel)
// depends only on (seed, layer, epoch, item[row], local[row], channel). item is the index of the row's graph
// in its data set, and local the row's index within that graph. So a graph gets the same factors if blocks
// are cut differently, or if a block runs on another thread or again. local[row] * channels must be below
// 2^34. p is in [0, 1). Every level gives the same bits. Thread-safe.

/// Computes out = x times factors for the rows begin .. end-1 of [rows, channels]. All rows belong to item 0,
/// and local is the index of the row. out may be x. For backward, pass the gradients as x. rows * channels
/// must be below 2^34.
void dropout(Level level, uint64_t seed, uint32_t layer, uint32_t epoch, double p, int64_t begin, int64_t end,
             int64_t channels, const float* x, float* out);

/// Computes out = relu(x) times factors, all [rows, channels]. NaN stays NaN.
void relu_dropout(Level level, uint64_t seed, uint32_t layer, uint32_t epoch, double p, int64_t rows,
                  int64_t channels, const int64_t* item, const int64_t* local, const float* x, float* out);

/// Computes the gradient of x from the gradient of out; each array has `count` numbers. Where out is 0, relu
/// or dropout set it to 0. dx may be grad.
void relu_dropout_backward(Level level, double p, int64_t count, const float* grad, const float* out,
                           float* dx);

}  // namespace plimsoll
