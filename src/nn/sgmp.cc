#include "nn/sgmp.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "base/error.h"
#include "ops/module_scope.h"
#include "ops/segment.h"

namespace plimsoll {
namespace {

PathDirection direction_of(const std::string& word) {
  if (word == "both") return PathDirection::both;
  if (word == "ancestor") return PathDirection::ancestor;
  if (word == "descendant") return PathDirection::descendant;
  throw UsageError("paths.direction: '" + word + "': expected both, ancestor or descendant");
}

PathMode mode_of(const std::string& word) {
  if (word == "corrected") return PathMode::corrected;
  if (word == "reference") return PathMode::reference;
  throw UsageError("paths.mode: '" + word + "': expected corrected or reference");
}

}  // namespace

Sgmp::Sgmp(const SgmpOptions& options, uint64_t seed)
    : options_(options),
      paths_{.tile = options.tile,
             .cutoff = options.cutoff,
             .mode = mode_of(options.mode),
             .distances_only = options.distances_only},
      direction_(direction_of(options.direction)),
      parameters_(seed),
      embedding_first_(parameters_, "embedding.0", options.in_features, options.hidden),
      embedding_second_(parameters_, "embedding.2", options.hidden, options.hidden) {
  const int64_t h = options.hidden;
  for (int64_t i = 0; i < options.layers; ++i)
    interactions_.emplace_back(parameters_, "interactions." + std::to_string(i), h, options.distances_only);
  weight1_ = parameters_.add("lin1.weight", {h / 2, h}, Init::glorot(h, h / 2));
  bias1_ = parameters_.add("lin1.bias", {h / 2}, Init::zeros());
  weight2_ = parameters_.add("lin2.weight", {options.classes, h / 2}, Init::glorot(h / 2, options.classes));
  bias2_ = parameters_.add("lin2.bias", {options.classes}, Init::zeros());
  if (options.values) units_ = TargetUnits::of(parameters_, options.classes);
}

CollateOptions Sgmp::collate_options() const {
  return {.items = options_.node_head ? Items::labelled_nodes : Items::graphs, .edge_index = true};
}

at::Tensor Sgmp::head(const at::Tensor& rows) const {
  const ModuleScope scope("lin1");
  return at::relu(at::linear(rows, weight1_, bias1_));
}

PathEdges Sgmp::edges_of(const Batch& batch) const {
  const ModuleScope scope("paths");
  return path_edges(batch.edge_index, batch.nodes(), direction_);
}

at::Tensor Sgmp::inputs(const Batch& batch) const {
  const ModuleScope scope("embedding");
  return embedding_second_.forward(at::relu(embedding_first_.forward(batch.x)));
}

at::Tensor Sgmp::embed(const Batch& batch, const DropoutKey&) const {
  PathOptions options = paths_;
  options.planar = batch.planar;
  const PathEdges edges = edges_of(batch);
  at::Tensor h = inputs(batch);
  for (size_t i = 0; i < interactions_.size(); ++i) {
    const ModuleScope scope("interactions." + std::to_string(i));
    h = h + interactions_[i].forward(h, batch.pos, edges, options);
  }
  if (options_.node_head) return head(h);
  if (options_.gtmp) return segment_reduce(head(h), batch.graph_ptr, "sum");
  return head(segment_reduce(h, batch.graph_ptr, "sum"));
}

at::Tensor Sgmp::judge(const at::Tensor& embeddings) const {
  const ModuleScope scope("lin2");
  return units_.values(at::linear(embeddings, weight2_, bias2_));
}

}  // namespace plimsoll
