#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/attention.h"

namespace plimsoll {

/// edge_order() by sorting on the device of edge_index, in one piece. Waits for the device, to see whether
/// all indices are in range. Errors: InputError if they are not.
at::Tensor sorted_edge_order(const at::Tensor& edge_index, int64_t sources, int64_t targets, bool drop_loops);

/// transpose_edge_order() of an order on a device; waits for nothing.
struct DeviceOutEdges {
  at::Tensor ptr, position, target;
  at::Tensor room;  ///< of the sort; lives on, so that a workspace is a sum and not the larger of two

  /// Valid while the tensors live.
  OutEdges view() const {
    return {ptr.const_data_ptr<int32_t>(), position.const_data_ptr<int32_t>(),
            target.const_data_ptr<int32_t>()};
  }
};
DeviceOutEdges out_edges_on_device(const at::Tensor& order, int64_t sources, int64_t targets, int64_t edges);
/// Likewise of an order whose arrays lie on the device of `numbers`, i32.
DeviceOutEdges out_edges_on_device(const EdgeOrder& order, const at::TensorOptions& numbers);

}  // namespace plimsoll
