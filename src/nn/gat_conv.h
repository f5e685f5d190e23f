#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>

#include "nn/dropout.h"
#include "nn/parameters.h"

namespace plimsoll {

/// The arguments of PyG's GATConv and GATv2Conv, with their defaults. Where sources and targets are different
/// nodes, in_channels_target is the width of the targets.
struct GATConvOptions {
  int64_t in_channels = 0;
  int64_t out_channels = 0;  ///< of a head
  int64_t heads = 1;
  int64_t in_channels_target = 0;  ///< 0: targets are the sources
  bool concat = true;              ///< heads side by side, else their mean
  double negative_slope = 0.2;
  double dropout = 0;  ///< of attention weights
  bool add_self_loops = true;
  int64_t edge_dim = 0;             ///< 0: no edge features
  std::string fill_value = "mean";  ///< edge features of added self-loops: zero | mean | value
  double fill_number = 0;           ///< those of "value"
  bool bias = true;
  bool residual = false;
  bool share_weights = false;  ///< GATv2 alone

  int64_t width() const { return heads * out_channels; }
  int64_t out_width() const { return concat ? width() : out_channels; }
};

/// What attention reads beside nodes. `order` is that of the edges, with drop_loops where self-loops are
/// added.
struct EdgeInput {
  at::Tensor order;
  at::Tensor edge_attr;                 ///< f32 [E, edge_dim], or undefined
  at::Tensor keys;                      ///< i64 [3, T] of dropout (ops/attention.h), or undefined
  std::optional<int64_t> targets = {};  ///< these are the first so many sources; none: all
};

/// Graph attention with PyG's GATConv arguments, parameter names and numbers. Velickovic et al., ICLR 2018.
class GATConv {
 public:
  /// Adds "PREFIX.lin.weight" [H*C, in] (with other targets "PREFIX.lin_src.weight" and
  /// "PREFIX.lin_dst.weight"), "PREFIX.att_src" and "PREFIX.att_dst" [1, H, C], with edge features
  /// "PREFIX.lin_edge.weight" [H*C, K] and "PREFIX.att_edge" [1, H, C], with residual "PREFIX.res.weight",
  /// "PREFIX.bias".
  GATConv(ParameterList& parameters, const std::string& prefix, const GATConvOptions& options);

  /// x [N, in] -> [N, out_width()], or as many rows as there are targets. `place` tells the uses of dropout
  /// within a model apart. Thread-safe.
  at::Tensor forward(const at::Tensor& x, const EdgeInput& edges, const DropoutKey& key,
                     uint32_t place) const;
  /// The same between different nodes: x_target [T, in_target] -> [T, out_width()].
  at::Tensor forward(const at::Tensor& x, const at::Tensor& x_target, const EdgeInput& edges,
                     const DropoutKey& key, uint32_t place) const;

 private:
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

/// Dynamic graph attention with PyG's GATv2Conv arguments, parameter names and numbers. Brody et al., ICLR
/// 2022.
class GATv2Conv {
 public:
  /// Adds "PREFIX.lin_l.weight" and ".bias", without shared weights "PREFIX.lin_r.weight" and ".bias",
  /// "PREFIX.att" [1, H, C], with edge features "PREFIX.lin_edge.weight" [H*C, K], with residual
  /// "PREFIX.res.weight", "PREFIX.bias".
  GATv2Conv(ParameterList& parameters, const std::string& prefix, const GATConvOptions& options);

  /// As GATConv's.
  at::Tensor forward(const at::Tensor& x, const EdgeInput& edges, const DropoutKey& key,
                     uint32_t place) const;
  at::Tensor forward(const at::Tensor& x, const at::Tensor& x_target, const EdgeInput& edges,
                     const DropoutKey& key, uint32_t place) const;

 private:
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
