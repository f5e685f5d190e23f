#include "nn/gat_conv.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "base/error.h"
#include "ops/gat/gat_autograd.h"
#include "ops/gatv2/gatv2.h"

namespace plimsoll {
namespace {

// Minimum ratio of output width to input width for which backward recomputes the projection. A narrower
// projection is kept, because little memory would be saved.
constexpr int64_t kRecomputeBelow = 4;

void fill_tensors(AttentionTensors& in, const at::Tensor& x, const EdgeInput& edges,
                  const GATConvOptions& options, const DropoutKey& key, uint32_t place) {
  in.x = x.contiguous();
  in.order = edges.order;
  if (options.edge_dim > 0) {
    if (!edges.edge_attr.defined())
      throw UsageError("attention: the layer has edge_dim, but found no edge features; pass edge_attr");
    in.edge_attr = edges.edge_attr.contiguous();
  }
  if (key.training && options.dropout > 0) {
    in.keys = edges.keys;
    in.seed = at::empty({3}, at::TensorOptions(x.is_meta() ? at::kMeta : at::kCPU).dtype(at::kLong));
    if (x.is_meta()) return;
    int64_t* const seed = in.seed.mutable_data_ptr<int64_t>();
    seed[0] = static_cast<int64_t>(key.seed);
    seed[1] = place;
    seed[2] = key.epoch;
  }
}

AttentionOptions options_of(const GATConvOptions& options, const DropoutKey& key) {
  return {.heads = options.heads,
          .slope = options.negative_slope,
          .loops = options.add_self_loops,
          .fill = options.fill_value,
          .fill_value = options.fill_number,
          .dropout = key.training ? options.dropout : 0.0,
          .keep_projection = kRecomputeBelow * options.in_channels > options.width()};
}

at::Tensor finish_layer(at::Tensor out, const GATConvOptions& options, const at::Tensor& x_target,
                        const at::Tensor& residual, const at::Tensor& bias) {
  if (!options.concat) {
    out = out.view({out.size(0), options.heads, options.out_channels}).mean(1);
    if (bias.defined()) out = out + bias;
  }
  return residual.defined() ? out + at::mm(x_target, residual.t()) : out;
}

// Returns options for computing the edges of one chunk alone.
AttentionOptions chunk_options(const GATConvOptions& options) {
  AttentionOptions attention = options_of(options, {});
  attention.loops = false;
  return attention;
}

// Returns the sum of a chunk, from the output of gat_forward() or gatv2_forward().
template <typename Output>
NeighbourSum sum_of_chunk(const Output& output, const EdgeInput& edges, const GATConvOptions& options) {
  const int64_t count = edges_of_order(edges.order.numel(), int64_t{1});
  return sum_of_attention(output.out, output.saved.highest, output.saved.scale,
                          options.edge_dim > 0 ? edges.edge_attr : at::Tensor(), count);
}

// Returns the self-loop that attention adds to a target with these edges. The features of the self-loop are
// the mean of the features of these edges.
EdgeInput self_loop(const NeighbourSum& sum, const at::Tensor& x, const GATConvOptions& options) {
  const at::Tensor loop = at::zeros({2, 1}, at::kLong);
  EdgeInput edges{edge_order(loop, 1, 1, /*same_nodes=*/true, /*drop_loops=*/false), {}, {}, 1};
  if (options.edge_dim > 0)
    edges.edge_attr = sum.edges == 0 ? at::zeros({1, options.edge_dim}, x.options())
                                     : (sum.edge_attr / static_cast<double>(sum.edges)).to(x.scalar_type());
  return edges;
}

at::Tensor finish_sum(const NeighbourSum& sum, const at::Tensor& x, const at::Tensor& bias) {
  return (sum.sum / sum.weight).to(x.scalar_type()).view({1, -1}) + bias;
}

}  // namespace

GATConv::GATConv(ParameterList& parameters, const std::string& prefix, const GATConvOptions& options)
    : options_(options) {
  const int64_t heads = options.heads;
  const int64_t channels = options.out_channels;
  const int64_t width = options.width();
  const Init glorot = Init::glorot(options.in_channels, width);
  const bool bipartite = options.in_channels_target > 0;
  weight_ = parameters.add(prefix + (bipartite ? ".lin_src.weight" : ".lin.weight"),
                           {width, options.in_channels}, glorot);
  if (bipartite)
    target_weight_ = parameters.add(prefix + ".lin_dst.weight", {width, options.in_channels_target},
                                    Init::glorot(options.in_channels_target, width));
  att_src_ = parameters.add(prefix + ".att_src", {1, heads, channels}, Init::glorot(heads, channels));
  att_dst_ = parameters.add(prefix + ".att_dst", {1, heads, channels}, Init::glorot(heads, channels));
  if (options.edge_dim > 0) {
    edge_weight_ = parameters.add(prefix + ".lin_edge.weight", {width, options.edge_dim},
                                  Init::glorot(options.edge_dim, width));
    att_edge_ = parameters.add(prefix + ".att_edge", {1, heads, channels}, Init::glorot(heads, channels));
  }
  if (options.residual) {
    const int64_t in = bipartite ? options.in_channels_target : options.in_channels;
    residual_ = parameters.add(prefix + ".res.weight", {options.out_width(), in},
                               Init::glorot(in, options.out_width()));
  }
  if (options.bias) bias_ = parameters.add(prefix + ".bias", {options.out_width()}, Init::zeros());
}

at::Tensor GATConv::forward(const at::Tensor& x, const EdgeInput& edges, const DropoutKey& key,
                            uint32_t place) const {
  return forward(x, edges.targets ? x.narrow(0, 0, *edges.targets) : at::Tensor(), edges, key, place);
}

GatTensors GATConv::tensors(const at::Tensor& x, const at::Tensor& x_target, const EdgeInput& edges,
                            const DropoutKey& key, uint32_t place) const {
  const int64_t heads = options_.heads;
  const int64_t channels = options_.out_channels;
  GatTensors in;
  fill_tensors(in, x, edges, options_, key, place);
  in.weight = weight_;
  in.att_source = att_src_.view({heads, channels});
  if (x_target.defined()) {
    // Uses <x W, a> = <x, W a>, so that no tensor of the width of W is needed.
    const at::Tensor& weight = target_weight_.defined() ? target_weight_ : weight_;
    const at::Tensor folded =
        (weight.view({heads, channels, -1}) * att_dst_.view({heads, channels, 1})).sum(1);
    in.target_score = at::mm(x_target, folded.t());
  } else {
    in.att_target = att_dst_.view({heads, channels});
  }
  if (edge_weight_.defined())
    in.q = (edge_weight_.view({heads, channels, -1}) * att_edge_.view({heads, channels, 1})).sum(1).t();
  return in;
}

at::Tensor GATConv::forward(const at::Tensor& x, const at::Tensor& x_target, const EdgeInput& edges,
                            const DropoutKey& key, uint32_t place) const {
  GatTensors in = tensors(x, x_target, edges, key, place);
  if (options_.concat) in.bias = bias_;
  return finish_layer(gat(in, options_of(options_, key)).first, options_, x_target.defined() ? x_target : x,
                      residual_, bias_);
}

NeighbourSum GATConv::sum_neighbours(const at::Tensor& x, const EdgeInput& edges) const {
  GatTensors in = tensors(x, x.narrow(0, 0, 1), edges, {}, 0);
  if (in.q.defined()) in.q = in.q.contiguous();
  return sum_of_chunk(gat_forward(in, chunk_options(options_)), edges, options_);
}

at::Tensor GATConv::finish(NeighbourSum sum, const at::Tensor& x) const {
  sum.add(sum_neighbours(x, self_loop(sum, x, options_)));
  return finish_sum(sum, x, bias_);
}

GATv2Conv::GATv2Conv(ParameterList& parameters, const std::string& prefix, const GATConvOptions& options)
    : options_(options) {
  const int64_t width = options.width();
  const int64_t in_target = options.in_channels_target > 0 ? options.in_channels_target : options.in_channels;
  const auto add_linear = [&](const std::string& name, int64_t in, at::Tensor& weight, at::Tensor& bias) {
    weight = parameters.add(prefix + name + ".weight", {width, in}, Init::glorot(in, width));
    if (options.bias) bias = parameters.add(prefix + name + ".bias", {width}, Init::zeros());
  };
  add_linear(".lin_l", options.in_channels, weight_, weight_bias_);
  if (!options.share_weights) add_linear(".lin_r", in_target, target_weight_, target_bias_);
  att_ = parameters.add(prefix + ".att", {1, options.heads, options.out_channels},
                        Init::glorot(options.heads, options.out_channels));
  if (options.edge_dim > 0)
    edge_weight_ = parameters.add(prefix + ".lin_edge.weight", {width, options.edge_dim},
                                  Init::glorot(options.edge_dim, width));
  if (options.residual)
    residual_ = parameters.add(prefix + ".res.weight", {options.out_width(), in_target},
                               Init::glorot(in_target, options.out_width()));
  if (options.bias) bias_ = parameters.add(prefix + ".bias", {options.out_width()}, Init::zeros());
}

at::Tensor GATv2Conv::forward(const at::Tensor& x, const EdgeInput& edges, const DropoutKey& key,
                              uint32_t place) const {
  return forward(x, edges.targets ? x.narrow(0, 0, *edges.targets) : at::Tensor(), edges, key, place);
}

Gatv2Tensors GATv2Conv::tensors(const at::Tensor& x, const at::Tensor& x_target, const EdgeInput& edges,
                                const DropoutKey& key, uint32_t place) const {
  Gatv2Tensors in;
  fill_tensors(in, x, edges, options_, key, place);
  in.weight = weight_;
  in.weight_bias = weight_bias_;
  const bool shared = options_.share_weights;
  in.target_weight = shared && x_target.defined() ? weight_ : target_weight_;
  in.target_bias = shared && x_target.defined() ? weight_bias_ : target_bias_;
  if (x_target.defined()) in.x_target = x_target.contiguous();
  in.att = att_.view({options_.heads, options_.out_channels});
  if (edge_weight_.defined()) in.edge_weight = edge_weight_.t();
  return in;
}

at::Tensor GATv2Conv::forward(const at::Tensor& x, const at::Tensor& x_target, const EdgeInput& edges,
                              const DropoutKey& key, uint32_t place) const {
  Gatv2Tensors in = tensors(x, x_target, edges, key, place);
  if (options_.concat) in.bias = bias_;
  return finish_layer(gatv2(in, options_of(options_, key)).first, options_, x_target.defined() ? x_target : x,
                      residual_, bias_);
}

NeighbourSum GATv2Conv::sum_neighbours(const at::Tensor& x, const EdgeInput& edges) const {
  Gatv2Tensors in = tensors(x, x.narrow(0, 0, 1), edges, {}, 0);
  if (in.edge_weight.defined()) in.edge_weight = in.edge_weight.contiguous();
  return sum_of_chunk(gatv2_forward(in, chunk_options(options_)), edges, options_);
}

at::Tensor GATv2Conv::finish(NeighbourSum sum, const at::Tensor& x) const {
  sum.add(sum_neighbours(x, self_loop(sum, x, options_)));
  return finish_sum(sum, x, bias_);
}

}  // namespace plimsoll
