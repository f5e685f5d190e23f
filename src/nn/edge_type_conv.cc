#include "nn/edge_type_conv.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "ops/aggregate/aggregate.h"
#include "ops/neighbour_attention/neighbour_attention.h"

namespace plimsoll {
namespace {

constexpr double kSlope = 0.2;  // The default of GATv2Conv.

}  // namespace

EdgeTypeConv::EdgeTypeConv(ParameterList& parameters, const std::string& prefix,
                           const EdgeTypeConvOptions& options, const at::Tensor& bases)
    : options_(options), bases_(bases) {
  const int64_t channels = options.channels;
  if (options.layer == RelationalLayer::sage)
    first_ = Linear(parameters, prefix + ".lin_l", channels, channels);
  if (options.layer == RelationalLayer::gin) {
    first_ = Linear(parameters, prefix + ".nn.0", channels, channels);
    second_ = Linear(parameters, prefix + ".nn.2", channels, channels);
  }
  if (options.layer == RelationalLayer::rgcn)
    comp_ = parameters.add(prefix + ".comp", {1, bases.size(0)}, Init::glorot(1, bases.size(0)));
  if (options.layer == RelationalLayer::gatv2) {
    first_ = Linear::glorot(parameters, prefix + ".lin_l", channels, channels);
    second_ = Linear::glorot(parameters, prefix + ".lin_r", channels, channels);
    const int64_t of_head = channels / options.heads;
    att_ = parameters.add(prefix + ".att", {1, options.heads, of_head}, Init::glorot(options.heads, of_head));
    bias_ = parameters.add(prefix + ".bias", {channels}, Init::zeros());
  }
}

at::Tensor EdgeTypeConv::attend(const at::Tensor& sources, const at::Tensor& targets,
                                const at::Tensor& order) const {
  const NeighbourAttentionTensors in = {.key = first_.forward(sources),
                                        .value = {},
                                        .query = second_.forward(targets),
                                        .order = order,
                                        .att = att_.squeeze(0)};
  return neighbour_attention(in, options_.heads, kSlope).out + bias_;
}

at::Tensor EdgeTypeConv::forward(const at::Tensor& sources, const at::Tensor& targets,
                                 const at::Tensor& order) const {
  if (options_.layer == RelationalLayer::gatv2) return attend(sources, targets, order);
  const int64_t rows = targets.size(0);
  at::Tensor scale;
  if (options_.mean) scale = in_degrees(order, sources.size(0), rows).clamp_min_(1).reciprocal_();
  const at::Tensor neighbours = aggregate(sources, order, {}, scale, rows);
  if (options_.layer == RelationalLayer::sage) return first_.forward(neighbours);
  if (options_.layer == RelationalLayer::gin)
    return second_.forward(at::relu(first_.forward(targets + neighbours)));
  const at::Tensor weight = at::mm(comp_, bases_.view({bases_.size(0), -1}));
  return at::mm(neighbours, weight.view({options_.channels, options_.channels}));
}

}  // namespace plimsoll
