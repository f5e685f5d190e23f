#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>

#include "kernels/attention/attention.h"
#include "nn/dropout.h"
#include "nn/neighbour_sum.h"
#include "nn/parameters.h"

namespace plimsoll {

/// The arguments of PyG's GATConv and GATv2Conv, with their defaults. If sources and targets are different
/// nodes, in_channels_target is the width of the targets.
struct GATConvOptions {
  int64_t in_channels = 0;
  int64_t out_channels = 0;  ///< Channels of one head.
  int64_t heads = 1;
  int64_t in_channels_target = 0;  ///< Width of the targets; 0 if targets and sources are the same nodes.
  bool concat = true;              ///< Whether heads are concatenated; otherwise they are averaged.
  double negative_slope = 0.2;
  double dropout = 0;  ///< Dropout probability of attention weights.
  bool add_self_loops = true;
  int64_t edge_dim = 0;                  ///< Number of edge features; 0 for none.
  LoopFill fill_value = LoopFill::mean;  ///< Edge features of added self-loops.
  /// Value of the edge features of added self-loops if fill_value is LoopFill::value.
  double fill_number = 0;
  bool bias = true;
  bool residual = false;
  bool share_weights = false;  ///< Whether sources and targets share weights (GATv2 only).

  int64_t width() const { return heads * out_channels; }
  int64_t out_width() const { return concat ? width() : out_channels; }
};

/// The edges that attention reads. If the layer adds self-loops, `order` must have none (drop_loops).
struct EdgeInput {
  at::Tensor order;
  at::Tensor edge_attr;  ///< f32 [E, edge_dim], or undefined.
  at::Tensor keys;       ///< Keys of dropout, i64 [3, T] (ops/attention/attention.h), or undefined.
  std::optional<int64_t> targets = {};  ///< Number of targets, which are the first sources; nullopt: all.
};

struct GatTensors;
struct Gatv2Tensors;

/// Graph attention with PyG's GATConv arguments, parameter names and results. Velickovic et al., ICLR 2018.
class GATConv {
 public:
  /// Adds "PREFIX.lin.weight" [H*C, in] (if targets and sources are different nodes, "PREFIX.lin_src.weight"
  /// and "PREFIX.lin_dst.weight"), "PREFIX.att_src" and "PREFIX.att_dst" [1, H, C]; with edge features
  /// "PREFIX.lin_edge.weight" [H*C, K] and "PREFIX.att_edge" [1, H, C]; with residual "PREFIX.res.weight";
  /// and "PREFIX.bias".
  GATConv(ParameterList& parameters, const std::string& prefix, const GATConvOptions& options);

  /// Maps x [N, in] to [targets, out_width()]. `place` distinguishes the uses of dropout within a model.
  /// Thread-safe. Errors: UsageError if edge_dim is above 0 and there are no edge features; those of gat().
  at::Tensor forward(const at::Tensor& x, const EdgeInput& edges, const DropoutKey& key,
                     uint32_t place) const;
  /// Maps x and x_target [T, in_target], features of different nodes, to [T, out_width()]. Thread-safe.
  at::Tensor forward(const at::Tensor& x, const at::Tensor& x_target, const EdgeInput& edges,
                     const DropoutKey& key, uint32_t place) const;

  /// Computes the sum over one chunk of a node's edges (nn/neighbour_sum.h). The node is row 0 of x and the
  /// only target. `edges` must have no self-loops. Options other than widths, heads and edge_dim must have
  /// their defaults. Thread-safe.
  NeighbourSum sum_neighbours(const at::Tensor& x, const EdgeInput& edges) const;
  /// Adds the node's self-loop to the sum of its chunks, and computes its output [1, out_width()] from that
  /// sum and its row x [1, in].
  at::Tensor finish(NeighbourSum sum, const at::Tensor& x) const;

 private:
  GatTensors tensors(const at::Tensor& x, const at::Tensor& x_target, const EdgeInput& edges,
                     const DropoutKey& key, uint32_t place) const;

  GATConvOptions options_;
  at::Tensor weight_;
  at::Tensor target_weight_;
  at::Tensor att_src_;
  at::Tensor att_dst_;
  at::Tensor edge_weight_;
  at::Tensor att_edge_;
  at::Tensor residual_;
  at::Tensor bias_;
};

/// Dynamic graph attention with PyG's GATv2Conv arguments, parameter names and results. Brody et al., ICLR
/// 2022.
class GATv2Conv {
 public:
  /// Adds "PREFIX.lin_l.weight" and ".bias"; without shared weights "PREFIX.lin_r.weight" and ".bias";
  /// "PREFIX.att" [1, H, C]; with edge features "PREFIX.lin_edge.weight" [H*C, K]; with residual
  /// "PREFIX.res.weight"; and "PREFIX.bias".
  GATv2Conv(ParameterList& parameters, const std::string& prefix, const GATConvOptions& options);

  /// Maps x [N, in] to [targets, out_width()], as GATConv::forward() does.
  at::Tensor forward(const at::Tensor& x, const EdgeInput& edges, const DropoutKey& key,
                     uint32_t place) const;
  at::Tensor forward(const at::Tensor& x, const at::Tensor& x_target, const EdgeInput& edges,
                     const DropoutKey& key, uint32_t place) const;
  /// Compute one target in chunks of its edges, like the functions of the same name in GATConv.
  NeighbourSum sum_neighbours(const at::Tensor& x, const EdgeInput& edges) const;
  at::Tensor finish(NeighbourSum sum, const at::Tensor& x) const;

 private:
  Gatv2Tensors tensors(const at::Tensor& x, const at::Tensor& x_target, const EdgeInput& edges,
                       const DropoutKey& key, uint32_t place) const;

  GATConvOptions options_;
  at::Tensor weight_;
  at::Tensor weight_bias_;
  at::Tensor target_weight_;
  at::Tensor target_bias_;
  at::Tensor att_;
  at::Tensor edge_weight_;
  at::Tensor residual_;
  at::Tensor bias_;
};

}  // namespace plimsoll
