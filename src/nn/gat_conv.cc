#include "nn/gat_conv.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

namespace plimsoll {
namespace {

// Softmax over the edges of each target, as PyG computes it: scores less their maximum, and 1e-16 in the
// denominator.
at::Tensor edge_softmax(const at::Tensor& scores, const at::Tensor& target, int64_t nodes) {
  const int64_t heads = scores.size(1);
  const at::Tensor lowest = at::zeros({nodes, heads}, scores.options());
  const at::Tensor highest =
      lowest.scatter_reduce(0, target.unsqueeze(1).expand({-1, heads}), scores.detach(), "amax",
                            /*include_self=*/false);
  const at::Tensor powers = at::exp(scores - highest.index_select(0, target));
  const at::Tensor sums = at::zeros({nodes, heads}, scores.options()).index_add(0, target, powers);
  return powers / (sums.index_select(0, target) + 1e-16);
}

}  // namespace

GATConv::GATConv(ParameterList& parameters, const std::string& prefix, int64_t in_channels, int64_t channels,
                 int64_t heads)
    : heads_(heads),
      channels_(channels),
      weight_(parameters.add(prefix + ".lin.weight", {heads * channels, in_channels},
                             Init::glorot(in_channels, heads * channels))),
      att_src_(parameters.add(prefix + ".att_src", {1, heads, channels}, Init::glorot(heads, channels))),
      att_dst_(parameters.add(prefix + ".att_dst", {1, heads, channels}, Init::glorot(heads, channels))),
      bias_(parameters.add(prefix + ".bias", {heads * channels}, Init::zeros())) {}

at::Tensor GATConv::forward(const at::Tensor& x, const Batch& batch) const {
  const int64_t nodes = x.size(0);
  const at::Tensor h = at::mm(x, weight_.t()).view({nodes, heads_, channels_});
  const at::Tensor from_source = (h * att_src_).sum(-1);
  const at::Tensor from_target = (h * att_dst_).sum(-1);
  const at::Tensor scores =
      at::leaky_relu(from_source.index_select(0, batch.source) + from_target.index_select(0, batch.target),
                     /*negative_slope=*/0.2);
  const at::Tensor attention = edge_softmax(scores, batch.target, nodes);
  const at::Tensor messages = h.index_select(0, batch.source) * attention.unsqueeze(-1);
  const at::Tensor sums =
      at::zeros({nodes, heads_, channels_}, x.options()).index_add(0, batch.target, messages);
  return sums.view({nodes, heads_ * channels_}) + bias_;
}

}  // namespace plimsoll
