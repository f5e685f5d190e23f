#include "nn/gnn.h"

#include <ATen/Functions.h>

#include <numeric>

#include "base/error.h"
#include "nn/gat_conv.h"
#include "nn/learned_rows.h"
#include "nn/neighbour_convs.h"
#include "nn/node_ids.h"
#include "nn/recompute.h"
#include "ops/attention/attention.h"
#include "ops/embedding/embedding.h"
#include "ops/module_scope.h"
#include "ops/segment/segment.h"

namespace plimsoll {

class Gnn::Conv {
 public:
  virtual ~Conv() = default;
  virtual at::Tensor forward(const at::Tensor& x, const Batch& batch, const DropoutKey& key,
                             uint32_t layer) const = 0;
  virtual NeighbourSum sum_neighbours(const at::Tensor& x, const Batch& chunk, uint32_t layer) const = 0;
  virtual at::Tensor finish(const NeighbourSum& sum, const at::Tensor& x, const Batch& chunk) const = 0;
};

namespace {

template <typename Layer>
class Neighbours : public Gnn::Conv {
 public:
  Neighbours(ParameterList& parameters, const std::string& prefix, int64_t in, int64_t out)
      : layer_(parameters, prefix, in, out) {}
  at::Tensor forward(const at::Tensor& x, const Batch& batch, const DropoutKey&,
                     uint32_t layer) const override {
    return layer_.forward(x, batch, layer);
  }
  NeighbourSum sum_neighbours(const at::Tensor& x, const Batch& chunk, uint32_t layer) const override {
    return layer_.sum_neighbours(x, chunk, layer);
  }
  at::Tensor finish(const NeighbourSum& sum, const at::Tensor& x, const Batch& chunk) const override {
    return layer_.finish(sum, x, chunk);
  }

 private:
  Layer layer_;
};

template <typename Layer>
class Attentive : public Gnn::Conv {
 public:
  Attentive(ParameterList& parameters, const std::string& prefix, const GATConvOptions& options)
      : layer_(parameters, prefix, options) {}
  at::Tensor forward(const at::Tensor& x, const Batch& batch, const DropoutKey& key,
                     uint32_t layer) const override {
    return layer_.forward(x, edges_of(batch, layer), key, layer);
  }
  NeighbourSum sum_neighbours(const at::Tensor& x, const Batch& chunk, uint32_t layer) const override {
    return layer_.sum_neighbours(x, edges_of(chunk, layer));
  }
  at::Tensor finish(const NeighbourSum& sum, const at::Tensor& x, const Batch&) const override {
    return layer_.finish(sum, x);
  }

 private:
  static EdgeInput edges_of(const Batch& batch, uint32_t layer) {
    if (batch.layers.empty()) return {batch.edge_order, batch.edge_attr, batch.node_keys};
    const LayerEdges edges = batch.edges_of(layer);
    const int64_t count = edges_of_order(edges.order.numel(), *edges.targets);
    // Attention has no dropout here, so it needs no keys.
    return {edges.order, batch.edge_attr.narrow(0, 0, count), {}, edges.targets};
  }

  Layer layer_;
};

std::unique_ptr<Gnn::Conv> make_conv(ParameterList& parameters, const std::string& prefix,
                                     const GnnOptions& options, int64_t in) {
  const int64_t out = options.hidden;
  if (options.conv == ConvKind::gcn)
    return std::make_unique<Neighbours<GCNConv>>(parameters, prefix, in, out);
  if (options.conv == ConvKind::gin)
    return std::make_unique<Neighbours<GINConv>>(parameters, prefix, in, out);
  if (options.conv == ConvKind::sage)
    return std::make_unique<Neighbours<SAGEConv>>(parameters, prefix, in, out);
  if (out % options.heads != 0)
    throw UsageError("gnn.hidden: " + std::to_string(out) + " channels cannot be divided equally among " +
                     std::to_string(options.heads) + " heads");
  const GATConvOptions attention{.in_channels = in,
                                 .out_channels = out / options.heads,
                                 .heads = options.heads,
                                 .edge_dim = options.edge_features};
  if (options.conv == ConvKind::gat)
    return std::make_unique<Attentive<GATConv>>(parameters, prefix, attention);
  return std::make_unique<Attentive<GATv2Conv>>(parameters, prefix, attention);
}

}  // namespace

Gnn::Gnn(const GnnOptions& options, uint64_t seed) : options_(options), parameters_(seed) {
  int64_t in = options.in_features;
  if (options.num_ids > 0) {
    embedding_ = parameters_.add("embedding.weight", {options.num_ids, options.embedding}, Init::normal());
    in += options.embedding - 1;
  }
  for (int64_t i = 0; i < options.layers; ++i) {
    const size_t first = parameters_.entries().size();
    convs_.push_back(make_conv(parameters_, "convs." + std::to_string(i), options, in));
    const std::string norm = "norms." + std::to_string(i);
    in = options.hidden;
    if (options.norm == NormKind::batch) batch_norms_.emplace_back(parameters_, norm, in);
    if (options.norm == NormKind::graph)
      graph_norms_.push_back({parameters_.add(norm + ".weight", {in}, Init::constant(1)),
                              parameters_.add(norm + ".bias", {in}, Init::zeros()),
                              parameters_.add(norm + ".mean_scale", {in}, Init::constant(1))});
    layer_parameters_.push_back(parameters_.from(first));
  }
  head_ =
      Linear(parameters_, "lin", options.jk == LayerJoin::cat ? in * options.layers : in, options.classes);
  if (options.values) units_ = TargetUnits::of(parameters_, options.classes);
  if (options.standardize) feature_units_ = FeatureUnits::of(parameters_, options.in_features);
}

Gnn::~Gnn() = default;

CollateOptions Gnn::collate_options() const {
  return {.items = options_.node_head ? Items::labelled_nodes : Items::graphs,
          .self_loops = options_.conv == ConvKind::gin || options_.conv == ConvKind::sage,
          .layers = options_.node_head ? options_.layers : 0,
          .degrees = options_.conv == ConvKind::gcn,
          .edge_weight = options_.edge_weight && !is_attention(options_.conv)};
}

at::Tensor Gnn::inputs(const Batch& batch) const {
  if (!embedding_.defined()) return feature_units_.standardized(batch.x);
  const ModuleScope scope("embedding");
  const ParameterList::Entry& table = parameters_.entries().front();
  const int64_t count = table.shape().front();
  const bool of_nodes = table.lazy;  // embed_nodes() was called.
  const at::Tensor rows = of_nodes ? learned_rows(table, node_numbers(batch, count))
                                   : embedding_rows(embedding_, node_ids(batch, count));
  return at::cat({rows, feature_units_.standardized(batch.x).slice(1, 1)}, 1);
}

at::Tensor Gnn::normalise(const at::Tensor& x, size_t layer, const Batch& batch, bool training) const {
  if (!batch_norms_.empty()) return batch_norms_[layer].forward(x, batch, training);
  if (graph_norms_.empty()) return x;
  const GraphNorm& norm = graph_norms_[layer];
  // A sample is one graph.
  const at::Tensor ptr = batch.layers.empty() ? batch.graph_ptr : batch.graph_ptr.clamp_max(x.size(0));
  return graph_norm(x, ptr, norm.weight, norm.bias, norm.mean_scale, 1e-5);
}

at::Tensor Gnn::run(size_t layer, const at::Tensor& x, const Batch& batch, const DropoutKey& key) const {
  const auto place = static_cast<uint32_t>(layer);  // Distinguishes the uses of dropout.
  return activate(convs_[layer]->forward(x, batch, key, place), layer, batch, key);
}

at::Tensor Gnn::activate(at::Tensor h, size_t layer, const Batch& batch, const DropoutKey& key) const {
  h = normalise(h, layer, batch, key.training);  // Frees the output of the convolution.
  return relu_dropout(h, options_.dropout, static_cast<uint32_t>(layer), key,
                      batch.node_item().narrow(0, 0, h.size(0)), batch.node_local().narrow(0, 0, h.size(0)));
}

at::Tensor Gnn::embed(const Batch& batch, const DropoutKey& key) const {
  at::Tensor h = inputs(batch);
  std::vector<at::Tensor> outputs;
  // If only the output of the last layer is used, backward reaches that layer first. Otherwise it first
  // reaches the joined outputs, which are large.
  const bool joined = options_.jk != LayerJoin::last;
  for (size_t i = 0; i < convs_.size(); ++i) {
    const ModuleScope scope("convs." + std::to_string(i));
    const Layer layer = [this, i, batch, key](const at::Tensor& x) { return run(i, x, batch, key); };
    h = plimsoll::run_layer(layer, h, layer_parameters_[i],
                            batch.recompute && (joined || i + 1 < convs_.size()));
    if (joined) outputs.push_back(batch.layers.empty() ? h : batch.layers.back().target_rows(h));
  }
  const ModuleScope scope("jk");
  if (joined) h = join(outputs);
  return options_.node_head ? h : segment_reduce(h, batch.graph_ptr, options_.pooling);
}

at::Tensor Gnn::apply_head(const at::Tensor& embeddings) const {
  const ModuleScope scope("lin");
  return units_.values(head_.forward(embeddings));
}

int64_t Gnn::embedding() const {
  return options_.jk == LayerJoin::cat ? options_.hidden * options_.layers : options_.hidden;
}

at::Tensor Gnn::join(const std::vector<at::Tensor>& outputs) const {
  if (options_.jk == LayerJoin::cat) return at::cat(outputs, 1);
  if (options_.jk == LayerJoin::max) return at::amax(at::stack(outputs), 0);
  return outputs.back();
}

at::Tensor Gnn::run_layer(int64_t layer, const at::Tensor& x, const Batch& batch) const {
  return run(static_cast<size_t>(layer), x, batch, {});
}

NeighbourSum Gnn::sum_neighbours(int64_t layer, const at::Tensor& x, const Batch& chunk) const {
  return convs_[static_cast<size_t>(layer)]->sum_neighbours(x, chunk, static_cast<uint32_t>(layer));
}

at::Tensor Gnn::finish_layer(int64_t layer, const NeighbourSum& sum, const at::Tensor& x,
                             const Batch& chunk) const {
  const auto at = static_cast<size_t>(layer);
  return activate(convs_[at]->finish(sum, x.narrow(0, 0, 1), chunk), at, chunk, {});
}

std::vector<int64_t> Gnn::embedding_layers() const {
  if (options_.jk == LayerJoin::last) return {options_.layers - 1};
  std::vector<int64_t> all(static_cast<size_t>(options_.layers));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace plimsoll
