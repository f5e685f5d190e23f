#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace plimsoll {

/// Zeros, f32, that take addresses and no memory: each page is the one of zeros that the system has. To be
/// read alone. For a model that is planned before there are weights to map. Errors: Failure where the system
/// has no addresses.
at::Tensor mapped_zeros(const std::vector<int64_t>& shape);

}  // namespace plimsoll
