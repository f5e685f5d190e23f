#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "config/sections/relational.h"
#include "nn/linear.h"
#include "nn/parameters.h"

namespace plimsoll {

/// Options of the layer of an edge type.
struct EdgeTypeConvOptions {
  RelationalLayer layer = RelationalLayer::sage;
  int64_t channels = 64;
  int64_t heads = 1;  ///< For gatv2; a divisor of `channels`.
  bool mean = false;  ///< Whether neighbours are averaged, not summed.
};

/// The messages of one edge type. With neighbours n_i, summed or averaged:
///
/// - sage: W n_i + b (Hamilton et al., NeurIPS 2017). Parameters: lin_l.weight, lin_l.bias;
/// - gin: an MLP of two layers over x_i + n_i (Xu et al., ICLR 2019). Parameters: nn.0.*, nn.2.*;
/// - rgcn: n_i W, where W is a sum of the layer's bases with the shares of the edge type (Schlichtkrull et
///   al., ESWC 2018, eq. 3). Parameter: comp [1, bases];
/// - gatv2: a weighted mean of the neighbours, as PyG's GATv2Conv(..., add_self_loops=False) computes it
///   (Brody et al., ICLR 2022). Parameters: lin_l.*, lin_r.*, att [1, heads, channels / heads], bias.
class EdgeTypeConv {
 public:
  /// `bases` [bases, channels, channels] are those of the layer, for rgcn; undefined otherwise.
  EdgeTypeConv(ParameterList& parameters, const std::string& prefix, const EdgeTypeConvOptions& options,
               const at::Tensor& bases);

  /// Maps the rows of sources [S, channels] and targets [T, channels] to [T, channels]. `order` has the edges
  /// from sources to targets (ops/attention/attention.h). Thread-safe.
  at::Tensor forward(const at::Tensor& sources, const at::Tensor& targets, const at::Tensor& order) const;

 private:
  at::Tensor attend(const at::Tensor& sources, const at::Tensor& targets, const at::Tensor& order) const;

  EdgeTypeConvOptions options_;
  Linear first_, second_;
  at::Tensor bases_, comp_;
  at::Tensor att_, bias_;
};

}  // namespace plimsoll
