#include "nn/hetero.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <fmt/format.h>

#include "ops/embedding/embedding.h"
#include "ops/module_scope.h"

namespace plimsoll {

at::Tensor Hetero::Norm::forward(const at::Tensor& x) const {
  return at::layer_norm(x, {x.size(1)}, weight, bias, 1e-5);
}

Hetero::Hetero(const HeteroOptions& options, uint64_t seed) : options_(options), parameters_(seed) {
  for (const HeteroOptions::NodeType& type : options_.nodes) encoders_.push_back(make_encoder(type));
  for (int64_t layer = 0; layer < options_.layers; ++layer) layers_.push_back(make_layer(layer));
  head_ = Linear(parameters_, "head", options_.channels, options_.outputs);
  if (options_.destinations) make_reached();
  if (options_.values) units_ = TargetUnits::of(parameters_, options_.outputs);
}

Hetero::Norm Hetero::make_norm(const std::string& prefix) {
  return {parameters_.add(prefix + ".weight", {options_.channels}, Init::constant(1)),
          parameters_.add(prefix + ".bias", {options_.channels}, Init::zeros())};
}

Hetero::Encoder Hetero::make_encoder(const HeteroOptions::NodeType& type) {
  const int64_t channels = options_.channels;
  const std::string prefix = "encoders." + type.name;
  Encoder encoder;
  encoder.lin = Linear(parameters_, prefix + ".lin", type.numbers, channels);
  for (size_t i = 0; i < type.vocabularies.size(); ++i)
    encoder.embeddings.push_back(parameters_.add(fmt::format("{}.embeddings.{}.weight", prefix, i),
                                                 {type.vocabularies[i], channels}, Init::normal()));
  encoder.lin1 = Linear(parameters_, prefix + ".lin1", channels, channels);
  encoder.norm1 = make_norm(prefix + ".norm1");
  encoder.lin2 = Linear(parameters_, prefix + ".lin2", channels, channels);
  encoder.norm2 = make_norm(prefix + ".norm2");
  return encoder;
}

// The edge types into a node type that a layer reads, if it computes the nodes within `hops` hops.
std::vector<size_t> Hetero::edges_into(size_t type, int64_t hops) const {
  std::vector<size_t> edges;
  for (size_t e = 0; e < options_.edges.size(); ++e)
    if (options_.edges[e].target == static_cast<int64_t>(type) && options_.edges[e].first_hop <= hops + 1)
      edges.push_back(e);
  return edges;
}

void Hetero::add_convs(int64_t layer, const at::Tensor& bases, const std::string& type, Target& target) {
  const EdgeTypeConvOptions conv{options_.layer, options_.channels, options_.heads, options_.mean};
  target.root = Linear(parameters_, fmt::format("convs.{}.roots.{}", layer, type), options_.channels,
                       options_.channels, /*bias=*/false);
  for (const size_t e : target.edges)
    target.convs.emplace_back(parameters_, fmt::format("convs.{}.convs.{}", layer, options_.edges[e].name),
                              conv, bases);
}

void Hetero::add_hgt(int64_t layer, const std::string& type, std::vector<std::optional<HgtSource>>& sources,
                     Target& target) {
  const std::string prefix = fmt::format("convs.{}", layer);
  target.hgt.emplace(type, options_.channels, options_.heads);
  for (const size_t e : target.edges) {
    const auto source = static_cast<size_t>(options_.edges[e].source);
    if (!sources[source])
      sources[source].emplace(parameters_, prefix, options_.nodes[source].name, options_.channels);
    target.hgt->add_edges(parameters_, prefix, {options_.edges[e].name, e, source}, *sources[source]);
  }
}

std::vector<Hetero::Target> Hetero::make_layer(int64_t layer) {
  const int64_t channels = options_.channels;
  // Maximum number of hops between the seeds and the nodes that the layer computes.
  const int64_t hops = options_.layers - 1 - layer;
  at::Tensor bases;
  if (options_.layer == RelationalLayer::rgcn)
    bases = parameters_.add(fmt::format("convs.{}.bases", layer), {options_.bases, channels, channels},
                            Init::glorot(channels, channels));
  std::vector<std::optional<HgtSource>> sources(options_.nodes.size());
  std::vector<Target> targets(options_.nodes.size());
  for (size_t type = 0; type < targets.size(); ++type) {
    if (options_.nodes[type].first_hop > hops) continue;
    Target& target = targets[type];
    const std::string& name = options_.nodes[type].name;
    target.edges = edges_into(type, hops);
    if (options_.layer == RelationalLayer::hgt)
      add_hgt(layer, name, sources, target);
    else
      add_convs(layer, bases, name, target);
    target.norm = make_norm(fmt::format("norms.{}.{}", layer, name));
  }
  return targets;
}

void Hetero::make_reached() {
  std::vector<ReachedScores::EdgeType> edges;
  for (size_t e = 0; e < options_.edges.size(); ++e)
    if (options_.edges[e].source == static_cast<int64_t>(*options_.destinations))
      edges.push_back({options_.edges[e].name, e, static_cast<size_t>(options_.edges[e].target)});
  reached_.emplace(parameters_, options_.channels, std::move(edges));
}

std::vector<at::Tensor> Hetero::encode(const TypedBatch& batch) const {
  std::vector<at::Tensor> h;
  for (size_t type = 0; type < encoders_.size(); ++type) h.push_back(encode(type, batch));
  return h;
}

at::Tensor Hetero::encode(size_t type, const TypedBatch& batch) const {
  const Encoder& encoder = encoders_[type];
  const ModuleScope scope("encoders." + options_.nodes[type].name);
  at::Tensor x = encoder.lin.forward(batch.numbers[type]);
  for (size_t i = 0; i < encoder.embeddings.size(); ++i)
    x = x + embedding_rows(encoder.embeddings[i], batch.codes[type].select(0, static_cast<int64_t>(i)));
  at::Tensor h = at::relu(encoder.norm1.forward(encoder.lin1.forward(x)));
  h = encoder.norm2.forward(encoder.lin2.forward(h));
  return at::relu(h + x);
}

// The results of edge types are added in a fixed order, so that the sum always has the same bits.
at::Tensor Hetero::convolve(const Target& target, const std::vector<at::Tensor>& h, const at::Tensor& self,
                            const std::vector<at::Tensor>& orders) const {
  at::Tensor out = target.root.forward(self);
  const double share = options_.mean_of_types ? 1.0 / static_cast<double>(target.edges.size()) : 1.0;
  for (size_t i = 0; i < target.edges.size(); ++i) {
    const at::Tensor& sources = h[static_cast<size_t>(options_.edges[target.edges[i]].source)];
    const at::Tensor messages = target.convs[i].forward(sources, self, orders[target.edges[i]]);
    out = at::add(out, messages, share);
  }
  return out;
}

// Computes the nodes of a type.
at::Tensor Hetero::run(size_t layer, size_t type, const std::vector<at::Tensor>& h, const Batch& batch,
                       const DropoutKey& key) const {
  const Target& target = layers_[layer][type];
  const TypedBatch& types = batch.types;
  const at::Tensor self =
      h[type].narrow(0, 0, types.nodes_within(type, options_.layers - 1 - static_cast<int64_t>(layer)));
  const at::Tensor out = target.hgt ? target.hgt->forward(h, self, types.orders[layer])
                                    : convolve(target, h, self, types.orders[layer]);
  return activate(target.norm.forward(out), layer, type, batch, key);
}

// What is dropped is a function of the first seed of the block and of the row. Blocks are cut by the recipe
// alone, so it does not depend on threads, budget or ranks.
at::Tensor Hetero::activate(const at::Tensor& x, size_t layer, size_t type, const Batch& batch,
                            const DropoutKey& key) const {
  if (!key.training || options_.dropout == 0) return at::relu(x);
  const at::Tensor row = at::arange(x.size(0), batch.graph_item.options());
  const at::Tensor block = at::zeros_like(row).add_(batch.graph_item.narrow(0, 0, 1));
  const auto place = static_cast<uint32_t>(layer * options_.nodes.size() + type);
  return relu_dropout(x, options_.dropout, place, key, block, row);
}

std::vector<at::Tensor> Hetero::run(size_t layer, const std::vector<at::Tensor>& h, const Batch& batch,
                                    const DropoutKey& key) const {
  const ModuleScope scope(fmt::format("convs.{}", layer));
  std::vector<at::Tensor> next(h.size());
  for (size_t type = 0; type < h.size(); ++type)
    if (layers_[layer][type].norm.weight.defined()) next[type] = run(layer, type, h, batch, key);
  return next;
}

at::Tensor Hetero::embed(const Batch& batch, const DropoutKey& key) const {
  std::vector<at::Tensor> h = encode(batch.types);
  for (size_t layer = 0; layer < layers_.size(); ++layer) h = run(layer, h, batch, key);
  return h[static_cast<size_t>(options_.seeds)];
}

at::Tensor Hetero::forward(const Batch& batch, const DropoutKey& key) const {
  if (!reached_) return apply_head(embed(batch, key));
  std::vector<at::Tensor> h = encode(batch.types);
  const at::Tensor encoded = h[*options_.destinations];
  h = run(0, h, batch, key);
  const std::vector<at::Tensor> first = h;
  for (size_t layer = 1; layer < layers_.size(); ++layer) h = run(layer, h, batch, key);
  return reached_->add(apply_head(h[static_cast<size_t>(options_.seeds)]), encoded, first, batch.types);
}

at::Tensor Hetero::apply_head(const at::Tensor& embeddings) const {
  const ModuleScope scope("head");
  return units_.values(head_.forward(embeddings));
}

}  // namespace plimsoll
