#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace plimsoll {

/// kernels/dropout.h as a tensor: f32 of the shape of `like` [rows, channels]; item and local are i64 [rows].
at::Tensor dropout_factors(const at::Tensor& like, double p, uint64_t seed, uint32_t layer, uint32_t epoch,
                           const at::Tensor& item, const at::Tensor& local);

}  // namespace plimsoll
