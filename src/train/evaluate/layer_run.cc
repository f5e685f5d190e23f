#include "train/evaluate/layer_run.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>

#include <numeric>
#include <optional>

#include "ops/allocator.h"
#include "sample/neighbour/sample_shape.h"
#include "train/engine/collate.h"
#include "train/plan/judging_caches.h"

namespace plimsoll {
namespace {

CollateOptions collate_options(const Gnn& model) {
  CollateOptions options = model.collate_options();
  options.items = Items::nodes;
  options.layers = 1;
  options.degrees = false;  // those of the graph are known
  return options;
}

}  // namespace

LayerRun::Worker::Worker(const Topology& topology)
    : sampler_(topology, {.fan_outs = {NeighbourChoice::kAll}}, 0) {}

void LayerRun::Worker::sample(int64_t first, int64_t end, JudgedPiece& piece) {
  targets_.resize(static_cast<size_t>(end - first));
  std::iota(targets_.begin(), targets_.end(), first);
  sampler_.sample(targets_, 0, piece.sample);
}

LayerRun::LayerRun(DiskTopology& topology, const Gnn& model, int64_t layer, const FeatureFile& from,
                   std::span<const int64_t> begins, std::span<const float> degrees)
    : model_(model),
      layer_(layer),
      topology_(topology),
      begins_(begins),
      degrees_(degrees),
      rows_(from),
      ahead_(share_caches(topology, rows_)),
      sampler_(topology),
      coming_(&rows_, {ahead_, std::ssize(begins)}) {}

void LayerRun::sample(int64_t number, Worker& by, JudgedPiece& piece) const {
  const auto at = static_cast<size_t>(number);
  by.sample(begins_[at], begins_[at + 1], piece);
}

bool LayerRun::take(int64_t number, Worker& worker) {
  if (number >= pieces()) return false;
  if (ahead_ == 0) return true;
  const auto sample_next = [&] {
    JudgedPiece piece;
    sample(next_, sampler_, piece);
    ++next_;
    return piece;
  };
  if (coming_.empty()) coming_.add(sample_next());
  coming_.extend([&] { return next_ < pieces() ? std::optional(sample_next()) : std::nullopt; });
  worker.piece_ = coming_.pop();
  return true;
}

at::Tensor LayerRun::run(int64_t number, Worker& worker) {
  at::init_num_threads();
  const TagScope scope(Tag::activations);
  const c10::AutoGradMode no_gradients(false);
  if (ahead_ == 0) sample(number, worker, worker.piece_.batch);
  fill(worker);
  const RowWidths widths{.node_features = rows_.width(), .edge_features = topology_.edge_width()};
  Batch batch = collate(worker.block_, widths, collate_options(model_));
  if (!degrees_.empty()) {
    batch.degrees = at::empty({batch.nodes()}, at::kFloat);
    auto* degree = batch.degrees.mutable_data_ptr<float>();
    for (const int64_t node : worker.piece_.batch.rows()) *degree++ = degrees_[static_cast<size_t>(node)];
  }
  batch.layers.resize(static_cast<size_t>(layer_) + 1, batch.layers.front());
  const at::Tensor x = layer_ == 0 ? model_.inputs(batch) : batch.x;
  return model_.run_layer(layer_, x, batch).contiguous();
}

// The targets come first, and then what they have edges from.
void LayerRun::fill(Worker& worker) {
  const SampledSubgraph& sample = worker.piece_.batch.sample;
  GraphBlock& block = worker.block_;
  const auto nodes = static_cast<int64_t>(sample.node.size());
  const auto edges = static_cast<int64_t>(sample.row.size());
  block.clear();
  block.graph.push_back(0);
  block.node_ptr.push_back(nodes);
  block.edge_ptr.push_back(edges);
  block.y.push_back(0);
  append_edges(sample, block.edges);
  block.edge_attr.resize(sample.edge.size() * static_cast<size_t>(topology_.edge_width()));
  topology_.read_edge_values(sample.edge, block.edge_attr);
  append_prefixes(sample, block.prefixes);
  block.x.resize(static_cast<size_t>(nodes * rows_.width()));
  coming_.read(worker.piece_, block.x.data());
}

}  // namespace plimsoll
