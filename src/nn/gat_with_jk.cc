#include "nn/gat_with_jk.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "base/error.h"
#include "nn/node_ids.h"
#include "nn/recompute.h"
#include "ops/embedding/embedding.h"
#include "ops/module_scope.h"
#include "ops/segment/segment.h"

namespace plimsoll {
namespace {

std::variant<GATConv, GATv2Conv> make_conv(ParameterList& parameters, const std::string& prefix,
                                           AttentionKind attention, const GATConvOptions& options) {
  if (attention == AttentionKind::gat) return GATConv(parameters, prefix, options);
  return GATv2Conv(parameters, prefix, options);
}

}  // namespace

GATWithJK::GATWithJK(const GatOptions& options, uint64_t seed)
    : options_(options),
      parameters_(seed),
      embedding_(parameters_.add("embedding.weight", {options.num_ids, options.embedding}, Init::normal())) {
  const int64_t width = options.hidden * options.heads;
  int64_t in = options.embedding + options.in_features - 1;
  for (int64_t i = 0; i < options.layers; ++i) {
    const size_t first = parameters_.entries().size();
    convs_.push_back(make_conv(parameters_, "convs." + std::to_string(i), options.attention,
                               {.in_channels = in,
                                .out_channels = options.hidden,
                                .heads = options.heads,
                                .edge_dim = options.edge_features}));
    layer_parameters_.push_back(parameters_.from(first));
    in = width;
  }
  jk_.emplace(parameters_, "jk", options.jk, width, options.layers);
  const int64_t joined = jk_->width();
  for (int64_t j = 0; j + 1 < options.fc_layers; ++j)
    fc_.push_back(add_linear("fc." + std::to_string(j), joined, joined));
  head_ = add_linear("head", joined, options.classes);
}

GATWithJK::Linear GATWithJK::add_linear(const std::string& name, int64_t in, int64_t out) {
  return {parameters_.add(name + ".weight", {out, in}, Init::linear(in)),
          parameters_.add(name + ".bias", {out}, Init::linear(in))};
}

at::Tensor GATWithJK::run(size_t layer, const at::Tensor& x, const Batch& batch,
                          const DropoutKey& key) const {
  const auto place = static_cast<uint32_t>(layer);  // Distinguishes the uses of dropout.
  // Each intermediate value is freed as soon as the next is computed.
  const EdgeInput edges{batch.edge_order, options_.edge_features > 0 ? batch.edge_attr : at::Tensor(),
                        batch.node_keys};
  at::Tensor h =
      std::visit([&](const auto& conv) { return conv.forward(x, edges, key, place); }, convs_[layer]);
  return relu_dropout(h, options_.dropout, place, key, batch.node_item(), batch.node_local());
}

at::Tensor GATWithJK::inputs(const Batch& batch) const {
  const ModuleScope scope("embedding");
  const at::Tensor ids = node_ids(batch, embedding_.size(0));
  return at::cat({embedding_rows(embedding_, ids), batch.x.slice(1, 1)}, 1);
}

at::Tensor GATWithJK::embed(const Batch& batch, const DropoutKey& key) const {
  at::Tensor h = inputs(batch);
  // If layers are concatenated, each is pooled before the concatenation. The result is the same, and no
  // tensor holds the outputs of all layers for every node. A layer is pooled as soon as it is computed, so
  // that backward reaches its pooling late and holds fewer gradients.
  const bool pool_first = options_.jk == JkMode::cat;
  std::vector<at::Tensor> outputs;
  for (size_t i = 0; i < convs_.size(); ++i) {
    const ModuleScope scope("convs." + std::to_string(i));
    const Layer layer = [this, i, batch, key](const at::Tensor& x) { return run(i, x, batch, key); };
    h = run_layer(layer, h, layer_parameters_[i], batch.recompute);
    outputs.push_back(pool_first ? segment_reduce(h, batch.graph_ptr, options_.pooling) : h);
  }
  at::Tensor pooled = join(outputs, batch);
  auto place = static_cast<uint32_t>(convs_.size());
  for (size_t j = 0; j < fc_.size(); ++j) {
    const ModuleScope scope("fc." + std::to_string(j));
    pooled = relu_dropout(at::linear(pooled, fc_[j].weight, fc_[j].bias), options_.dropout, place++, key,
                          batch.graph_item, batch.graph_local);
  }
  return pooled;
}

at::Tensor GATWithJK::join(const std::vector<at::Tensor>& outputs, const Batch& batch) const {
  const ModuleScope scope("jk");
  const at::Tensor joined = jk_->forward(outputs);
  return options_.jk == JkMode::cat ? joined : segment_reduce(joined, batch.graph_ptr, options_.pooling);
}

at::Tensor GATWithJK::apply_head(const at::Tensor& embeddings) const {
  const ModuleScope scope("head");
  return at::linear(embeddings, head_.weight, head_.bias);
}

}  // namespace plimsoll
