#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace plimsoll {

/// An f32 tensor of zeros that uses addresses but no memory: each page is the system's shared zero page.
/// Read-only. Used for a model that is planned before there are weights to map. Errors: Failure if address
/// space runs out.
at::Tensor mapped_zeros(const std::vector<int64_t>& shape);

}  // namespace plimsoll
