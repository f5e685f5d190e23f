#include "nn/neighbour_convs.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "ops/aggregate/aggregate.h"
#include "ops/attention/attention.h"

namespace plimsoll {
namespace {

// Returns the weights of the edges that a layer reads; undefined if the model uses no weights.
at::Tensor weights_of(const Batch& batch, const LayerEdges& edges, int64_t nodes) {
  if (!batch.edge_weight.defined()) return {};
  return batch.edge_weight.narrow(0, 0, edges_of_order(edges.order.numel(), edges.targets.value_or(nodes)));
}

// Sums x over the chunk's sources, each row multiplied by its entry of `scale` if `scale` is defined.
NeighbourSum sum_of_rows(const at::Tensor& x, const Batch& chunk, size_t layer, const at::Tensor& scale) {
  const LayerEdges edges = chunk.edges_of(layer);
  const int64_t count = edges_of_order(edges.order.numel(), *edges.targets);
  if (count == 0) return {};
  const at::Tensor weights = weights_of(chunk, edges, x.size(0));
  return {.sum = aggregate(x, edges.order, scale, {}, edges.targets, weights).to(at::kDouble),
          .edges = count};
}

// Returns the sum divided by `divisor`; zeros in the shape of `like` for a node without edges.
at::Tensor divided(const NeighbourSum& sum, double divisor, const at::Tensor& like) {
  return sum.edges == 0 ? at::zeros_like(like) : (sum.sum / divisor).to(like.scalar_type());
}

}  // namespace

GCNConv::GCNConv(ParameterList& parameters, const std::string& prefix, int64_t in, int64_t out)
    : weight_(parameters.add(prefix + ".lin.weight", {out, in}, Init::glorot(in, out))),
      bias_(parameters.add(prefix + ".bias", {out}, Init::zeros())) {}

at::Tensor GCNConv::forward(const at::Tensor& x, const Batch& batch, size_t layer) const {
  const LayerEdges edges = batch.edges_of(layer);
  const int64_t nodes = x.size(0);
  const at::Tensor z = at::mm(x, weight_.t());
  const at::Tensor degree = batch.degrees.defined() ? batch.degrees.narrow(0, 0, nodes) + 1
                                                    : in_degrees(edges.order, nodes, nodes).add_(1);
  const at::Tensor root = degree.rsqrt();
  const at::Tensor neighbours = aggregate(z, edges.order, root, edges.target_rows(root), edges.targets,
                                          weights_of(batch, edges, nodes));
  return neighbours + edges.target_rows(z) * edges.target_rows(degree.reciprocal_()).unsqueeze(1) + bias_;
}

NeighbourSum GCNConv::sum_neighbours(const at::Tensor& x, const Batch& chunk, size_t layer) const {
  const at::Tensor root = (chunk.degrees.narrow(0, 0, x.size(0)) + 1).rsqrt_();
  return sum_of_rows(at::mm(x, weight_.t()), chunk, layer, root);
}

at::Tensor GCNConv::finish(const NeighbourSum& sum, const at::Tensor& x, const Batch& chunk) const {
  const at::Tensor z = at::mm(x, weight_.t());
  const at::Tensor degree = (chunk.degrees.narrow(0, 0, 1) + 1).unsqueeze_(1);
  return divided(sum, 1, z) * degree.rsqrt() + z * degree.reciprocal() + bias_;
}

SAGEConv::SAGEConv(ParameterList& parameters, const std::string& prefix, int64_t in, int64_t out)
    : neighbours_(parameters, prefix + ".lin_l", in, out),
      self_(parameters, prefix + ".lin_r", in, out, /*bias=*/false) {}

at::Tensor SAGEConv::forward(const at::Tensor& x, const Batch& batch, size_t layer) const {
  const LayerEdges edges = batch.edges_of(layer);
  const at::Tensor degree = in_degrees(edges.order, x.size(0), edges.targets.value_or(x.size(0)));
  const at::Tensor share = degree.clamp_min_(1).reciprocal_();
  const at::Tensor weights = weights_of(batch, edges, x.size(0));
  return neighbours_.forward(aggregate(x, edges.order, {}, share, edges.targets, weights)) +
         self_.forward(edges.target_rows(x));
}

NeighbourSum SAGEConv::sum_neighbours(const at::Tensor& x, const Batch& chunk, size_t layer) const {
  return sum_of_rows(x, chunk, layer, {});
}

at::Tensor SAGEConv::finish(const NeighbourSum& sum, const at::Tensor& x, const Batch&) const {
  return neighbours_.forward(divided(sum, static_cast<double>(sum.edges), x)) + self_.forward(x);
}

GINConv::GINConv(ParameterList& parameters, const std::string& prefix, int64_t in, int64_t out)
    : first_(parameters, prefix + ".nn.0", in, out), second_(parameters, prefix + ".nn.2", out, out) {}

at::Tensor GINConv::forward(const at::Tensor& x, const Batch& batch, size_t layer) const {
  const LayerEdges edges = batch.edges_of(layer);
  const at::Tensor weights = weights_of(batch, edges, x.size(0));
  const at::Tensor sum = edges.target_rows(x) + aggregate(x, edges.order, {}, {}, edges.targets, weights);
  return second_.forward(at::relu(first_.forward(sum)));
}

NeighbourSum GINConv::sum_neighbours(const at::Tensor& x, const Batch& chunk, size_t layer) const {
  return sum_of_rows(x, chunk, layer, {});
}

at::Tensor GINConv::finish(const NeighbourSum& sum, const at::Tensor& x, const Batch&) const {
  return second_.forward(at::relu(first_.forward(x + divided(sum, 1, x))));
}

}  // namespace plimsoll
