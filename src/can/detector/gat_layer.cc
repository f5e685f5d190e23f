#include "can/detector/gat_layer.h"

#include <algorithm>

#include "base/error.h"

namespace plimsoll {
namespace {

Vector<float, Tag::parameters> copy_of(std::span<const float> values) {
  return {values.begin(), values.end()};
}

// Folds GAT's edge weights into one number per head and feature: the sum over the head's channels of W_e and
// att_edge.
Vector<float, Tag::parameters> folded(const SafetensorsView& file, const std::string& prefix,
                                      const GatLayerOptions& o) {
  const auto weight = values_of(file, prefix + ".lin_edge.weight", {o.heads * o.channels, o.edge_features});
  const auto att = values_of(file, prefix + ".att_edge", {1, o.heads, o.channels});
  Vector<float, Tag::parameters> q(size(o.edge_features * o.heads));
  for (int64_t k = 0; k < o.edge_features; ++k)
    for (int64_t h = 0; h < o.heads; ++h) {
      double sum = 0;
      for (int64_t c = h * o.channels; c < (h + 1) * o.channels; ++c)
        sum += static_cast<double>(weight[size(c * o.edge_features + k)]) * att[size(c)];
      q[size(k * o.heads + h)] = static_cast<float>(sum);
    }
  return q;
}

}  // namespace

GatLayer::Static GatLayer::read_static(const SafetensorsView& file, const std::string& prefix,
                                       const GatLayerOptions& o) {
  Static weights{copy_of(values_of(file, prefix + ".att_src", {1, o.heads, o.channels})),
                 copy_of(values_of(file, prefix + ".att_dst", {1, o.heads, o.channels})),
                 {}};
  if (o.edge_features > 0) weights.q = folded(file, prefix, o);
  return weights;
}

GatLayer::Dynamic GatLayer::read_dynamic(const SafetensorsView& file, const std::string& prefix,
                                         const GatLayerOptions& o) {
  const int64_t width = o.heads * o.channels;
  Dynamic weights{PackedLinear(file, prefix + ".lin_r.weight", prefix + ".lin_r.bias", o.in, width),
                  copy_of(values_of(file, prefix + ".att", {1, o.heads, o.channels})),
                  {}};
  if (o.edge_features == 0) return weights;
  const auto given = values_of(file, prefix + ".lin_edge.weight", {width, o.edge_features});
  weights.edge_weight.resize(given.size());
  for (int64_t c = 0; c < width; ++c)
    for (int64_t k = 0; k < o.edge_features; ++k)
      weights.edge_weight[size(k * width + c)] = given[size(c * o.edge_features + k)];
  return weights;
}

GatLayer::GatLayer(const SafetensorsView& file, const std::string& prefix, AttentionKind attention,
                   const GatLayerOptions& options)
    : options_(options) {
  if (attention == AttentionKind::gat) {
    projection_ = PackedLinear(file, prefix + ".lin.weight", "", options.in, width());
    attention_ = read_static(file, prefix, options);
  } else {
    projection_ = PackedLinear(file, prefix + ".lin_l.weight", prefix + ".lin_l.bias", options.in, width());
    attention_ = read_dynamic(file, prefix, options);
  }
  bias_ = copy_of(values_of(file, prefix + ".bias", {width()}));
}

void GatLayer::attend(const Static& weights, const float* /*x*/, Attention<float>& shared, int64_t nodes) {
  const GatKernels<float>& kernels = gat_kernels<float>(kernel_level());
  scores_.resize(size(4 * nodes * shared.heads));
  float* const s = scores_.data();
  float* const t = s + nodes * shared.heads;
  Gat<float> layer{shared};
  layer.highest = t + nodes * shared.heads;
  layer.scale = layer.highest + nodes * shared.heads;
  kernels.scores(layer.z, {weights.att_source.data(), weights.att_target.data()}, layer.heads, layer.channels,
                 0, nodes, {s, t});
  layer.s = s;
  layer.t = t;
  layer.q = weights.q.data();
  scratch_.resize(size(gat_scratch_size(layer.order, layer.heads)));
  kernels.forward(layer, 0, nodes, scratch_.data());
}

void GatLayer::attend(const Dynamic& weights, const float* x, Attention<float>& shared, int64_t nodes) {
  z_target_.resize(size(nodes * width()));
  weights.target.forward(x, nodes, z_target_.data());
  scores_.resize(size(2 * nodes * shared.heads));
  Gatv2<float> layer{shared};
  layer.highest = scores_.data();
  layer.scale = layer.highest + nodes * shared.heads;
  layer.z_target = z_target_.data();
  layer.edge_weight = weights.edge_weight.data();
  layer.att = weights.att.data();
  scratch_.resize(size(gatv2_scratch_size(layer.order, layer.heads, layer.channels, layer.edge_features)));
  gatv2_kernels<float>(kernel_level()).forward(layer, 0, nodes, scratch_.data());
}

void GatLayer::forward(const float* x, const OrderedEdges& edges, float* alpha, float* out) {
  const int64_t nodes = edges.order.targets;
  z_.resize(size(nodes * width()));
  projection_.forward(x, nodes, z_.data());
  Attention<float> shared;
  shared.order = edges.order;
  shared.caller_edges = edges.given;
  shared.heads = options_.heads;
  shared.channels = options_.channels;
  shared.edge_features = options_.edge_features;
  shared.loops = true;
  shared.fill = LoopFill::mean;
  shared.z = z_.data();
  shared.edge_attr = edges.edge_attr;
  shared.bias = bias_.data();
  shared.alpha = alpha;
  shared.out = out;
  std::visit([&](const auto& weights) { attend(weights, x, shared, nodes); }, attention_);
  for (int64_t i = 0; i < nodes * width(); ++i) out[i] = std::max(out[i], 0.0F);
}

}  // namespace plimsoll
