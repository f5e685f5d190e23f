#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

namespace plimsoll {

// aggregate() and in_degrees() (aggregate.h) on the CUDA device that holds the order. The content of the
// order is not checked. The arguments are those of the operators.

at::Tensor aggregate_on_device(const at::Tensor& x, const at::Tensor& order,
                               const std::optional<at::Tensor>& source_scale,
                               const std::optional<at::Tensor>& target_scale, std::optional<int64_t> targets,
                               const std::optional<at::Tensor>& edge_scale);
at::Tensor aggregate_backward_on_device(const at::Tensor& grad, const at::Tensor& order,
                                        const std::optional<at::Tensor>& source_scale,
                                        const std::optional<at::Tensor>& target_scale,
                                        std::optional<int64_t> sources,
                                        const std::optional<at::Tensor>& edge_scale);
at::Tensor in_degrees_on_device(const at::Tensor& order, int64_t sources, int64_t targets);

}  // namespace plimsoll
