#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/attention/attention.h"

namespace plimsoll {

/// Computes edge_order(), as one piece, by sorting on the device of edge_index. Waits for the device, to
/// check that all indices are in range. Errors: InputError if they are not; UsageError for 2^31 - 1 or more
/// edges or nodes.
at::Tensor sorted_edge_order(const at::Tensor& edge_index, int64_t sources, int64_t targets, bool drop_loops);

/// The result of transpose_edge_order() for an order on a device, computed without waiting for the device.
struct DeviceOutEdges {
  at::Tensor ptr, position, target;
  at::Tensor buffer;  ///< Buffer of the sort. It lives as long as the result, so the workspace is the sum of
                      ///< both sizes, not their maximum.

  /// Returns a view that is valid while the tensors live.
  OutEdges view() const {
    return {ptr.const_data_ptr<int32_t>(), position.const_data_ptr<int32_t>(),
            target.const_data_ptr<int32_t>()};
  }
};
DeviceOutEdges out_edges_on_device(const at::Tensor& order, int64_t sources, int64_t targets, int64_t edges);
/// Transposes an order on a device. `numbers` are the options of i32 tensors on that device.
DeviceOutEdges out_edges_on_device(const EdgeOrder& order, const at::TensorOptions& numbers);

}  // namespace plimsoll
