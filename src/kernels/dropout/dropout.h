#pragma once

#include <cstdint>

#include "base/philox.h"
#include "kernels/level.h"

namespace plimsoll {

// Factors of inverted dropout: 0 with probability p, otherwise 1 / (1 - p). The factor of (row, channel)
// depends only on (seed, layer, epoch, item[row], local[row], channel). item is the index of the row's graph
// in its data set, local the row's number within that graph. So a block that is cut differently, run by
// another thread or run again gets the same factors. local[row] * channels must be below 2^34. p is in [0,
// 1). Every level gives the same bits. Thread-safe.

/// Computes out = x times factors for the rows from `begin` to `end` of [rows, channels], as rows of item 0
/// numbered from 0. out may be x. The same call multiplies gradients. rows * channels must be below 2^34.
void dropout(Level level, uint64_t seed, uint32_t layer, uint32_t epoch, double p, int64_t begin, int64_t end,
             int64_t channels, const float* x, float* out);

/// Computes out = relu(x) times factors, all [rows, channels]. NaN stays NaN.
void relu_dropout(Level level, uint64_t seed, uint32_t layer, uint32_t epoch, double p, int64_t rows,
                  int64_t channels, const int64_t* item, const int64_t* local, const float* x, float* out);

/// Computes the gradient of x from that of out, `count` numbers each. An out of 0 means that relu or dropout
/// set it to 0. dx may be grad.
void relu_dropout_backward(Level level, double p, int64_t count, const float* grad, const float* out,
                           float* dx);

}  // namespace plimsoll
