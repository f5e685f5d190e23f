#pragma once

#include "kernels/edge_order.h"
#include "kernels/warp.h"

namespace plimsoll {

/// Number of digits of a radix sort, one per lane.
inline constexpr int kDigits = kWarpLanes;

/// Divides the edges into parts, one per warp. There are enough parts to keep a GPU busy, and few enough that
/// the counts per part and digit are small compared with the edges.
struct EdgeParts {
  static constexpr int64_t kMax = 4096;
  static constexpr int64_t kEdges = 256;  ///< Maximum number of edges in a part, unless that takes more
                                          ///< than kMax parts.

  int64_t edges;
  int64_t count;

  constexpr explicit EdgeParts(int64_t of) : edges(of), count((of + kEdges - 1) / kEdges) {
    if (count > kMax) count = kMax;
    if (count < 1) count = 1;
  }
  constexpr int64_t begin(int64_t part) const { return part * edges / count; }
};

/// Returns the size in bytes of the `buffer` of out_edges_cuda(). It is an upper bound of the bytes that the
/// call uses. It is affine in `edges`, so that plans are exact.
constexpr int64_t out_edges_buffer_bytes(int64_t edges) {
  return edges + (kWarpLanes + 2) * kDigits * int64_t{sizeof(int32_t)};
}
static_assert(EdgeParts::kEdges >= kDigits * int64_t{sizeof(int32_t)});

/// Runs transpose_edge_order() on a CUDA device: out_ptr is [sources + 1], position and target are [edges].
/// `edges` of the order may be more than it keeps, as in attention_gpu.h; entries of position and target from
/// out_ptr[sources] on have no meaning. The caller provides all device memory, so that a plan is exact;
/// torch's sort would allocate its own. attention_gpu.h describes the stream, errors, and builds without
/// CUDA.
void out_edges_cuda(const EdgeOrder& order, int32_t* out_ptr, int32_t* position, int32_t* target,
                    int32_t* buffer, void* stream);

}  // namespace plimsoll
