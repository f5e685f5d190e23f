#pragma once

#include <string>

#include "nn/batch.h"
#include "nn/linear.h"
#include "nn/neighbour_sum.h"
#include "nn/parameters.h"

namespace plimsoll {

// Graph convolutions that sum over neighbours (ops/aggregate/aggregate.h), with PyG's definitions and names.
// If Batch::edge_weight is defined, each neighbour is multiplied by the weight of its edge. x is f32 [N, in],
// the result [N, out]. A layer that has an entry in Batch::layers computes only the rows of its targets.
//
// A node may also be computed in chunks of its edges (nn/neighbour_sum.h). sum_neighbours() processes a
// chunk, in which the node is row 0 and the only target of the layer. finish() reads the row of the node, [1,
// in], and returns its output, [1, out].

/// PyG's GCNConv (Kipf & Welling, ICLR 2017): D^-1/2 (A + I) D^-1/2 X W + b. Parameters: lin.weight, bias.
/// Needs an order without self-loops, because the layer adds a self-loop to every node. A degree is the sum
/// of the weights of edges, with weight 1 for the self-loop.
class GCNConv {
 public:
  GCNConv(ParameterList& parameters, const std::string& prefix, int64_t in, int64_t out);
  at::Tensor forward(const at::Tensor& x, const Batch& batch, size_t layer = 0) const;
  /// Batch::degrees must be defined.
  NeighbourSum sum_neighbours(const at::Tensor& x, const Batch& chunk, size_t layer) const;
  at::Tensor finish(const NeighbourSum& sum, const at::Tensor& x, const Batch& chunk) const;

 private:
  at::Tensor weight_;
  at::Tensor bias_;
};

/// PyG's SAGEConv with mean aggregation (Hamilton et al., NeurIPS 2017): W_l mean of neighbours + W_r x.
/// Parameters: lin_l.weight, lin_l.bias, lin_r.weight. Stored self-loops count as neighbours. With weights,
/// the weighted sum is divided by the number of neighbours, as in PyG's GraphConv with mean aggregation.
class SAGEConv {
 public:
  SAGEConv(ParameterList& parameters, const std::string& prefix, int64_t in, int64_t out);
  at::Tensor forward(const at::Tensor& x, const Batch& batch, size_t layer = 0) const;
  NeighbourSum sum_neighbours(const at::Tensor& x, const Batch& chunk, size_t layer) const;
  at::Tensor finish(const NeighbourSum& sum, const at::Tensor& x, const Batch& chunk) const;

 private:
  Linear neighbours_;
  Linear self_;
};

/// PyG's GINConv with eps 0 (Xu et al., ICLR 2019): an MLP of two layers over x + sum of neighbours.
/// Parameters: nn.0.weight, nn.0.bias, nn.2.weight, nn.2.bias. Stored self-loops count as neighbours.
class GINConv {
 public:
  GINConv(ParameterList& parameters, const std::string& prefix, int64_t in, int64_t out);
  at::Tensor forward(const at::Tensor& x, const Batch& batch, size_t layer = 0) const;
  NeighbourSum sum_neighbours(const at::Tensor& x, const Batch& chunk, size_t layer) const;
  at::Tensor finish(const NeighbourSum& sum, const at::Tensor& x, const Batch& chunk) const;

 private:
  Linear first_;
  Linear second_;
};

}  // namespace plimsoll
