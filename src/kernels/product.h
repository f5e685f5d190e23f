#pragma once

#include <cstdint>

#include "kernels/level.h"

namespace plimsoll {

/// Products of few rows with a matrix that stays: y = x W^T + bias. W is packed once, in panels of columns of
/// W^T that fit into registers, for one level. Sums go over the inputs in their order, whatever the number of
/// rows: a row has the same bits alone and among others.
struct ProductKernels {
  int64_t panel;  ///< outputs in a panel

  /// W [out, in] in C order, as torch's Linear has it, into product_size() numbers.
  void (*pack)(const float* w, int64_t in, int64_t out, float* packed);
  /// y [rows, out] from x [rows, in]; bias [out], or null.
  void (*multiply)(const float* x, int64_t rows, const float* packed, int64_t in, int64_t out,
                   const float* bias, float* y);
};

const ProductKernels& product_kernels(Level level);

/// Numbers that a packed matrix takes.
inline int64_t product_size(const ProductKernels& kernels, int64_t in, int64_t out) {
  return (out + kernels.panel - 1) / kernels.panel * kernels.panel * in;
}

}  // namespace plimsoll
