#pragma once

#include <cstdint>

namespace plimsoll {

/// The arguments of the functions of dropout.h. If `item` and `local` are null, the rows are consecutive rows
/// of item 0, from `first_row` on.
struct DropoutDraws {
  uint64_t seed;
  uint32_t layer;
  uint32_t epoch;
  double p;
  int64_t rows;
  int64_t channels;
  const int64_t* item;
  const int64_t* local;
  int64_t first_row = 0;
};

/// The functions of dropout.h at one level.
struct DropoutKernels {
  void (*times)(const DropoutDraws& draws, const float* x, float* out);
  void (*relu)(const DropoutDraws& draws, const float* x, float* out);
  void (*relu_backward)(double p, int64_t count, const float* grad, const float* out, float* dx);
};

}  // namespace plimsoll
