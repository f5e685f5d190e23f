#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace plimsoll {

/// Zeros, f32, that use addresses but no memory: each page is the system's shared zero page. Read-only. Used
/// for a model that is planned before there are weights to map. Errors: Failure if the system has no
/// addresses.
at::Tensor mapped_zeros(const std::vector<int64_t>& shape);

}  // namespace plimsoll
