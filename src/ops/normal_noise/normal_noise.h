#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace plimsoll {

/// Returns standard normal numbers, f32 with the shape of `like` [rows, channels]. They are made from
/// counter-based random numbers by the transform of Box and Muller ("A note on the generation of random
/// normal deviates", 1958). The value at (row, channel) depends only on (seed, epoch, item[row], local[row],
/// channel) (base/philox.h). item, i64 [rows], is the index of the row's graph in its data set; local, i64
/// [rows], is the index of the row in its graph. local[row] * channels must be below 2^34. The arguments are
/// not checked. Thread-safe.
at::Tensor normal_noise(const at::Tensor& like, uint64_t seed, uint32_t epoch, const at::Tensor& item,
                        const at::Tensor& local);

}  // namespace plimsoll
