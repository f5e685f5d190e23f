#include "ops/path_message/path_message.h"

#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "memory/slab.h"
#include "ops/check.h"
#include "ops/numbers.h"
#include "ops/path_message/path_layer.h"

namespace plimsoll {
namespace {

using Tensor = at::Tensor;

constexpr int64_t kMinTile = 16;
constexpr int64_t kMaxTile = 65536;
constexpr int64_t kMaxWidth = 8192;  // Maximum width of x and maximum number of Gaussians.

PathSizes check(const Tensor& x, const Tensor& pos, const PathEdges& edges, const PathWeights& weights,
                const PathOptions& options) {
  const PathSizes sizes = check_path_layer(x, pos, weights, options);
  check_path_edges(edges, x.size(0));
  return sizes;
}

template <typename T>
void check_numbers(const Tensor& pos, bool planar) {
  const T* const r = read<T>(pos);
  for (int64_t n = 0; n < pos.size(0); ++n) {
    for (int64_t c = 0; c < 3; ++c)
      if (!std::isfinite(r[3 * n + c]))
        throw InputError(fmt::format("path_message: pos of node {} has {} at {}, expected a finite number", n,
                                     r[3 * n + c], "xyz"[c]));
    if (planar && r[3 * n + 2] != r[2])
      throw UsageError(
          fmt::format("path_message: with planar, z must be equal for all nodes, but is {} at node {} and {} "
                      "at node 0; leave planar out",
                      r[3 * n + 2], n, r[2]));
  }
}

// Calls work(layer) on the layer over a workspace.
template <typename T, typename Work>
void with_layer(const Tensor& x, const Tensor& pos, const PathEdges& edges, const PathWeights& weights,
                const PathOptions& options, const PathSizes& sizes, bool backward, const Work& work) {
  const Tensor memory = at::empty({path_workspace(sizes, backward, sizeof(T))}, x.options().dtype(at::kByte));
  if (x.is_meta()) return;
  check_numbers<T>(pos, options.planar);
  typename PathLayer<T>::Weights w;
  for (size_t i = 0; i < weights.size(); ++i) w[i] = read<T>(weights[i]);
  const PathGraph graph{.nodes = sizes.nodes,
                        .row_begin = read<int64_t>(edges.row_begin),
                        .target = read<int32_t>(edges.target),
                        .self_paths = options.mode == PathMode::reference};
  PathLayer<T> layer(sizes, graph, read<T>(x), read<T>(pos), w, options.cutoff,
                     options.mode == PathMode::corrected, backward, memory.mutable_data_ptr());
  work(layer);
}

}  // namespace

PathSizes check_path_layer(const Tensor& x, const Tensor& pos, const PathWeights& weights,
                           const PathOptions& options) {
  require(x.dim() == 2 && x.size(1) > 0 && x.size(1) <= kMaxWidth &&
              (x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble),
          "x f32 or f64 [N, H]", x);
  require(pos.dim() == 2 && pos.size(0) == x.size(0) && pos.size(1) == 3 &&
              pos.scalar_type() == x.scalar_type() && pos.device() == x.device(),
          "pos [N, 3] of x's dtype", pos);
  if (options.tile < kMinTile || options.tile > kMaxTile)
    throw UsageError(fmt::format("path_message: found a tile of {} paths, expected {} to {}", options.tile,
                                 kMinTile, kMaxTile));
  if (!(options.cutoff > 0) || !std::isfinite(options.cutoff))
    throw UsageError(
        fmt::format("path_message: found a cutoff of {}, expected a number above 0", options.cutoff));
  const auto inputs = [&](size_t w) {
    return weights[w].defined() && weights[w].dim() == 2 ? weights[w].size(1) : 0;
  };
  const int64_t h = x.size(1);
  PathSizes sizes{.nodes = x.size(0),
                  .hidden = h,
                  .distances = inputs(0),
                  .angles = inputs(4) - inputs(0),
                  .torsions = inputs(8) - inputs(4),
                  .tile = options.tile,
                  .shared = options.planar || options.distances_only};
  const bool right = options.distances_only ? sizes.angles == 0 && sizes.torsions == 0
                                            : sizes.angles >= 2 && sizes.torsions >= 2;
  if (sizes.distances < 2 || inputs(8) > kMaxWidth || !right)
    throw UsageError(fmt::format(
        "path_message: found MLPs with {}, {} and {} inputs, expected D, {}, where D, A and T are at least 2",
        inputs(0), inputs(4), inputs(8),
        options.distances_only ? "D and D (distances only)" : "D + A and D + A + T"));
  for (size_t w = 0; w < weights.size(); w += 2) {
    const int64_t out = w < 12 ? h : w == 12 ? 4 * h : w == 14 ? 2 * h : h;
    const int64_t in = w < 12 ? (w % 4 == 0 ? inputs(w) : h) : w == 12 ? 7 * h : w == 14 ? 4 * h : 2 * h;
    require_like(x, weights[w], {out, in}, kPathWeightNames[w]);
    require_like(x, weights[w + 1], {out}, kPathWeightNames[w + 1]);
  }
  return sizes;
}

void check_positions(const Tensor& pos, bool planar) {
  AT_DISPATCH_FLOATING_TYPES(pos.scalar_type(), "path_message",
                             [&] { check_numbers<scalar_t>(pos, planar); });
}

Tensor path_message_cpu(const Tensor& x, const Tensor& pos, const PathEdges& edges,
                        const PathWeights& weights, const PathOptions& options) {
  const PathSizes sizes = check(x, pos, edges, weights, options);
  const Tensor out = at::empty(x.sizes(), x.options());
  const WorkspaceScope workspace;
  const Tensor rows = x.contiguous();
  const Tensor places = pos.contiguous();
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "path_message", [&] {
    with_layer<scalar_t>(rows, places, edges, weights, options, sizes, /*backward=*/false,
                         [&](auto& layer) { layer.forward(write<scalar_t>(out)); });
  });
  return out;
}

std::pair<Tensor, PathWeights> path_message_backward_cpu(const Tensor& grad, const Tensor& x,
                                                         const Tensor& pos, const PathEdges& edges,
                                                         const PathWeights& weights,
                                                         const PathOptions& options) {
  const PathSizes sizes = check(x, pos, edges, weights, options);
  require(grad.sizes() == x.sizes() && grad.scalar_type() == x.scalar_type() && grad.device() == x.device(),
          "a gradient [N, H] of x's dtype", grad);
  const Tensor dx = at::zeros(x.sizes(), x.options());
  PathWeights gradients;
  for (size_t w = 0; w < weights.size(); ++w) gradients[w] = at::zeros(weights[w].sizes(), x.options());
  const WorkspaceScope workspace;
  const Tensor dout = grad.contiguous();
  const Tensor rows = x.contiguous();
  const Tensor places = pos.contiguous();
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "path_message_backward", [&] {
    with_layer<scalar_t>(rows, places, edges, weights, options, sizes, /*backward=*/true, [&](auto& layer) {
      typename PathLayer<scalar_t>::Gradients to;
      for (size_t w = 0; w < gradients.size(); ++w) to[w] = write<scalar_t>(gradients[w]);
      layer.backward(read<scalar_t>(dout), write<scalar_t>(dx), to);
    });
  });
  return {dx, gradients};
}

}  // namespace plimsoll
