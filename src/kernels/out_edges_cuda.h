#pragma once

#include "kernels/edge_order.h"
#include "kernels/warp.h"

namespace plimsoll {

/// Digits of a radix sort: one a lane.
inline constexpr int kDigits = kWarpLanes;

/// Edges shared out among warps: enough of them to keep a GPU busy, few enough that counts by part and digit
/// are small beside the edges.
struct EdgeParts {
  static constexpr int64_t kMax = 4096;
  static constexpr int64_t kEdges = 256;  ///< in a part, where there are no more than kMax

  int64_t edges;
  int64_t count;

  constexpr explicit EdgeParts(int64_t of) : edges(of), count((of + kEdges - 1) / kEdges) {
    if (count > kMax) count = kMax;
    if (count < 1) count = 1;
  }
  constexpr int64_t begin(int64_t part) const { return part * edges / count; }
};

/// Bytes of `buffer` that suffice for out_edges_cuda(): at least what it uses, and affine in edges, so that
/// plans are exact.
constexpr int64_t out_edges_buffer_bytes(int64_t edges) {
  return edges + (kWarpLanes + 2) * kDigits * int64_t{sizeof(int32_t)};
}
static_assert(EdgeParts::kEdges >= kDigits * int64_t{sizeof(int32_t)});

/// transpose_edge_order() on a CUDA device: out_ptr [sources + 1], position and target [edges]. `edges` of
/// the order may be more than it keeps, as in attention_cuda.h; what stands after out_ptr[sources] says
/// nothing. All memory is the device's and the caller's, so that a plan is exact where torch's sort would
/// take pieces of its own. Stream, errors and builds without CUDA are as in attention_cuda.h.
void out_edges_cuda(const EdgeOrder& order, int32_t* out_ptr, int32_t* position, int32_t* target,
                    int32_t* buffer, void* stream);

}  // namespace plimsoll
