#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <utility>

#include "kernels/path_message/path_words.h"
#include "ops/path_message/path_memory.h"

namespace plimsoll {

struct PathOptions {
  int64_t tile = 256;  ///< Maximum number of paths in memory at once, 16 to 65536. The result depends on it,
                       ///< because it determines how sums are cut.
  double cutoff = 10;  ///< The Gaussians of distances cover 0 .. cutoff. The cutoff must be above 0.
  PathMode mode = PathMode::corrected;
  bool distances_only = false;  ///< Whether angles and torsions are left out; see PathWeights.
  bool planar = false;  ///< Whether all z coordinates of pos are equal. Paths that differ only in k then
                        ///< share the terms that depend only on i, j and p. The result is the same except for
                        ///< rounding.
};

/// The edges that paths use, without self-loops, sorted by source and then by target. path_edges() creates
/// them once for all layers.
struct PathEdges {
  at::Tensor row_begin;  ///< i64 [N + 1]: the edges of node n are row_begin[n] .. row_begin[n + 1] - 1.
  at::Tensor target;     ///< i32 [E]; entries from row_begin[N] on are not set.
};

/// Creates the edges of `nodes` nodes from edge_index, i64 [2, E], whose rows are source and target. With
/// PathDirection::both, parallel edges stay separate; otherwise one of them is kept. Errors: InputError for a
/// node out of range, and if there could be 2^63 paths; UsageError for another shape and for 2^31 nodes or
/// edges. Thread-safe.
PathEdges path_edges(const at::Tensor& edge_index, int64_t nodes, PathDirection direction);

/// Returns the number of paths of three edges that begin at each node, i64 [N], not counting the paths (i, i,
/// i, i). The time is proportional to the number of pairs of consecutive edges. Errors: those of
/// check_path_edges().
at::Tensor path_counts(const PathEdges& edges);

/// Throws UsageError for wrong shapes or dtypes, and InputError for edges that path_edges() cannot have made.
/// The edges must be on the host.
void check_path_edges(const PathEdges& edges, int64_t nodes);

/// The parameters of one layer, in the order and with the shapes of SGMP's state_dict (Linear: weight
/// [out, in], then bias [out]). With D, A and T Gaussians of distances, angles and torsions (50, 6, 12):
///
///     mlps_dist.0.0  [H, D]          mlps_dist.0.2  [H, H]
///     mlps_dist.1.0  [H, D + A]      mlps_dist.1.2  [H, H]
///     mlps_dist.2.0  [H, D + A + T]  mlps_dist.2.2  [H, H]
///     combine.0 [4H, 7H]   combine.2 [2H, 4H]   combine.4 [H, 2H]
///
/// With distances_only A and T are 0.
using PathWeights = std::array<at::Tensor, 18>;
/// The names of the parameters: weight w is kPathWeightNames[w].
inline constexpr std::array<const char*, 18> kPathWeightNames = {
    "mlps_dist.0.0.weight", "mlps_dist.0.0.bias", "mlps_dist.0.2.weight", "mlps_dist.0.2.bias",
    "mlps_dist.1.0.weight", "mlps_dist.1.0.bias", "mlps_dist.1.2.weight", "mlps_dist.1.2.bias",
    "mlps_dist.2.0.weight", "mlps_dist.2.0.bias", "mlps_dist.2.2.weight", "mlps_dist.2.2.bias",
    "combine.0.weight",     "combine.0.bias",     "combine.2.weight",     "combine.2.bias",
    "combine.4.weight",     "combine.4.bias"};

/// Checks all arguments except the edges. Errors: UsageError for shapes, dtypes and options.
PathSizes check_path_layer(const at::Tensor& x, const at::Tensor& pos, const PathWeights& weights,
                           const PathOptions& options);
/// Checks positions on the host. Errors: InputError for a position that is NaN or infinite; UsageError for
/// `planar` if z coordinates differ.
void check_positions(const at::Tensor& pos, bool planar);

/// Returns the messages of one layer of SGMP (Zhang and Zhao, "Representation Learning on Spatial Networks",
/// NeurIPS 2021). The message of node i is the sum, over all paths i -> j -> k -> p of distinct nodes, of
///
/// C3 relu(C2 relu(C1 [x_i, x_j, x_k, x_p, g1, g2, g3]))
///
/// where g1, g2 and g3 are MLPs of Gaussians. The Gaussians of g1 are of |r_j - r_i|; of g2, of |r_k - r_j|
/// and the angle between r_k - r_j and r_j - r_i; of g3, of |r_p - r_j|, the angle between r_p - r_j and r_j
/// - r_i, and the torsion between k and p about r_j - r_i. The caller adds x. Angles at an edge of length 0
/// are 0.
///
/// x is f32 or f64 [N, H], pos [N, 3] and weights of the same dtype; the result is [N, H]. Differentiable
/// once, by x and weights; pos is data and has no gradient. Only the arguments are kept for backward, which
/// enumerates the paths again and recomputes the terms of each tile. The workspace depends on N, H, the
/// numbers of Gaussians and the options (ops/path_message/path_memory.h), not on the paths.
///
/// torch.ops.plimsoll.path_message is the same function. On the CPU it uses one thread, so its result does
/// not depend on the number of threads. On a device, a tile has at least 16,384 paths, and the content of
/// `edges` is not checked. Errors: those of check_path_edges(); UsageError for shapes, dtypes and options,
/// for a pos that requires a gradient, and for `planar` if z coordinates differ; InputError for a position
/// that is NaN or infinite. Thread-safe.
at::Tensor path_message(const at::Tensor& x, const at::Tensor& pos, const PathEdges& edges,
                        const PathWeights& weights, const PathOptions& options);

/// The operator without autograd, and the gradients with respect to x and weights, given the gradients of the
/// sums.
at::Tensor path_message_cpu(const at::Tensor& x, const at::Tensor& pos, const PathEdges& edges,
                            const PathWeights& weights, const PathOptions& options);
std::pair<at::Tensor, PathWeights> path_message_backward_cpu(const at::Tensor& grad, const at::Tensor& x,
                                                             const at::Tensor& pos, const PathEdges& edges,
                                                             const PathWeights& weights,
                                                             const PathOptions& options);

}  // namespace plimsoll
