#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace plimsoll {

/// Whether a forward pass drops numbers, and the keys that determine which numbers it drops.
struct DropoutKey {
  bool training = false;
  uint64_t seed = 0;
  uint32_t epoch = 0;
};

/// Applies ReLU and inverted dropout to `values` [rows, channels] in one pass, with factors from
/// counter-based random numbers (kernels/dropout/dropout.h). `layer` distinguishes the uses of dropout in a
/// model. `item` and `local`, i64 [rows], are the keys of the rows. Applies ReLU alone if key.training is
/// false or p is 0.
at::Tensor relu_dropout(const at::Tensor& values, double p, uint32_t layer, const DropoutKey& key,
                        const at::Tensor& item, const at::Tensor& local);

}  // namespace plimsoll
