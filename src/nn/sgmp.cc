#include "nn/sgmp.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "base/error.h"
#include "ops/module_scope.h"
#include "ops/path_message/spanning_path_edges.h"
#include "ops/segment/segment.h"

namespace plimsoll {
namespace {

Reduce reduce_of(PathReduce reduce) {
  return reduce == PathReduce::mean ? Reduce::mean : Reduce::sum;
}

}  // namespace

Sgmp::Sgmp(const SgmpOptions& options, uint64_t seed)
    : options_(options),
      paths_{.tile = options.tile,
             .cutoff = options.cutoff,
             .mode = options.mode,
             .distances_only = options.distances_only},
      direction_(options.direction),
      parameters_(seed),
      embedding_first_(parameters_, "embedding.0", options.in_features, options.hidden),
      embedding_second_(parameters_, "embedding.2", options.hidden, options.hidden) {
  const int64_t h = options.hidden;
  for (int64_t i = 0; i < options.layers; ++i) {
    const std::string number = std::to_string(i);
    interactions_.emplace_back(parameters_, "interactions." + number, h, options.centers,
                               options.distances_only);
    if (options.norm == PathNorm::batch) norms_.emplace_back(parameters_, "norms." + number, h);
  }
  weight1_ = parameters_.add("lin1.weight", {h / 2, h}, Init::glorot(h, h / 2));
  bias1_ = parameters_.add("lin1.bias", {h / 2}, Init::zeros());
  weight2_ = parameters_.add("lin2.weight", {options.classes, h / 2}, Init::glorot(h / 2, options.classes));
  bias2_ = parameters_.add("lin2.bias", {options.classes}, Init::zeros());
  if (options.values) units_ = TargetUnits::of(parameters_, options.classes);
  if (options.standardize) feature_units_ = FeatureUnits::of(parameters_, options.in_features);
}

CollateOptions Sgmp::collate_options() const {
  return {.items = options_.node_head ? Items::labelled_nodes : Items::graphs, .edge_index = true};
}

at::Tensor Sgmp::head(const at::Tensor& rows) const {
  const ModuleScope scope("lin1");
  return at::relu(at::linear(rows, weight1_, bias1_));
}

PathEdges Sgmp::edges_of(const Batch& batch, const DropoutKey& key, uint32_t tree) const {
  const ModuleScope scope("paths");
  const Batch& read = batch.read();
  if (options_.spanning_trees == 0) return path_edges(read.edge_index, read.nodes(), direction_);
  // The trees of an evaluation do not depend on the epoch.
  const SpanningKey tree_key{key.seed, key.training ? key.epoch : 0, key.training ? 0 : tree + 1};
  return spanning_path_edges(read.edge_index, read.node_keys, tree_key, direction_);
}

at::Tensor Sgmp::inputs(const Batch& batch) const {
  const ModuleScope scope("embedding");
  return embedding_second_.forward(at::relu(embedding_first_.forward(feature_units_.standardized(batch.x))));
}

at::Tensor Sgmp::embed_paths(const Batch& batch, const PathEdges& found, bool training) const {
  PathOptions options = paths_;
  options.planar = batch.planar;
  at::Tensor share;  // f32 [N, 1], the weight of one path in the mean at a node.
  if (options_.aggregate == PathReduce::mean) {
    const ModuleScope scope("paths");
    share = path_counts(found)
                .to(at::kFloat)
                .add_(options.mode == PathMode::reference ? 1 : 0)  // Adds the path (i, i, i, i).
                .clamp_min_(1)
                .reciprocal_()
                .unsqueeze_(1)
                .to(batch.x.device());
  }
  // Paths are found on the host, even if the layers run on a device.
  const PathEdges edges{found.row_begin.to(batch.x.device()), found.target.to(batch.x.device())};
  at::Tensor h = inputs(batch);
  for (size_t i = 0; i < interactions_.size(); ++i) {
    const ModuleScope scope("interactions." + std::to_string(i));
    const at::Tensor messages = interactions_[i].forward(h, batch.pos, edges, options);
    h = share.defined() ? at::addcmul(h, messages, share) : h + messages;
    if (!norms_.empty()) h = norms_[i].forward(h, batch, training);
  }
  if (options_.node_head) return head(h);
  if (options_.gtmp) return segment_reduce(head(h), batch.graph_ptr, reduce_of(options_.readout));
  return head(segment_reduce(h, batch.graph_ptr, reduce_of(options_.readout)));
}

// apply_head() is linear, so the mean of the trees' outputs is the output for their mean.
at::Tensor Sgmp::embed(const Batch& batch, const DropoutKey& key) const {
  at::Tensor sum = embed_paths(batch, edges_of(batch, key, 0), key.training);
  if (key.training || options_.spanning_trees < 2) return sum;
  for (int64_t tree = 1; tree < options_.spanning_trees; ++tree)
    sum += embed_paths(batch, edges_of(batch, key, static_cast<uint32_t>(tree)), key.training);
  return sum /= static_cast<double>(options_.spanning_trees);
}

at::Tensor Sgmp::apply_head(const at::Tensor& embeddings) const {
  const ModuleScope scope("lin2");
  return units_.values(at::linear(embeddings, weight2_, bias2_));
}

}  // namespace plimsoll
