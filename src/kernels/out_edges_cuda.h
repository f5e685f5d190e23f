#pragma once

#include "kernels/edge_order.h"
#include "kernels/warp.h"

namespace plimsoll {

/// Digits of a radix sort: one a lane.
inline constexpr int kDigits = kWarpLanes;

/// Numbers of `room` that out_edges_cuda() takes for so many edges.
constexpr int64_t out_edges_room(int64_t edges) {
  return (Parts(edges, kDigits).count + kWarpLanes + 1) * kDigits;
}

/// transpose_edge_order() on a CUDA device: out_ptr [sources + 1], position and target [edges]. `edges` of
/// the order may be more than it keeps, as in attention_cuda.h; what stands after out_ptr[sources] says
/// nothing. All memory is the device's and the caller's, so that a plan is exact where torch's sort would
/// take pieces of its own. Stream, errors and builds without CUDA are as in attention_cuda.h.
void out_edges_cuda(const EdgeOrder& order, int32_t* out_ptr, int32_t* position, int32_t* target,
                    int32_t* room, void* stream);

}  // namespace plimsoll
