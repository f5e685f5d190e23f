#pragma once

#include <cstdint>

#include "base/philox.h"
#include "kernels/level.h"

namespace plimsoll {

// Factors of inverted dropout: 0 with probability p, else 1 / (1 - p). That of (row, channel) depends on
// (seed, layer, epoch, item[row], local[row], channel) alone: item is the index of the row's graph in its
// data set, local the row's number within that graph. A block that is cut otherwise, run by another thread or
// run again gets the same factors. local[row] * channels must stay below 2^34. p in [0, 1). The same bits at
// every level. Thread-safe.

/// out = x times factors, rows `begin` to `end` of [rows, channels]: those of item 0, whose rows are numbered
/// from 0. out may be x. Gradients are multiplied likewise. rows * channels must stay below 2^34.
void dropout(Level level, uint64_t seed, uint32_t layer, uint32_t epoch, double p, int64_t begin, int64_t end,
             int64_t channels, const float* x, float* out);

/// out = relu(x) times factors, all [rows, channels]. What is no number stays so.
void relu_dropout(Level level, uint64_t seed, uint32_t layer, uint32_t epoch, double p, int64_t rows,
                  int64_t channels, const int64_t* item, const int64_t* local, const float* x, float* out);

/// The gradient of x from that of out, `count` numbers each: where out is 0 relu or dropout made it so. dx
/// may be grad.
void relu_dropout_backward(Level level, double p, int64_t count, const float* grad, const float* out,
                           float* dx);

}  // namespace plimsoll
