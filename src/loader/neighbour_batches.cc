#include "loader/neighbour_batches.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/units.h"

namespace plimsoll {
namespace {

// Samples of later batches may use 1/kSampleShare of the cache's bytes, in addition to the cache.
constexpr int64_t kSampleShare = 8;
constexpr size_t kSpare = 2;

// Copies the rows of a column with the indices `places`.
template <typename T>
void copy_rows(std::span<const T> column, int64_t width, std::span<const int64_t> places, BatchBuffer& to) {
  constexpr size_t kPlacesAhead = 16;
  T* out = to.as<T>();
  for (size_t i = 0; i < places.size(); ++i) {
    if (i + kPlacesAhead < places.size())
      __builtin_prefetch(column.data() + places[i + kPlacesAhead] * width);
    out = std::copy_n(column.data() + places[i] * width, width, out);
  }
}

// Copies feature rows from the mapped file.
void copy_features(const GraphView& graph, std::span<const int64_t> nodes, float* out) {
  constexpr size_t kAhead = 8;  // Distance of the prefetch of row starts.
  const int64_t width = graph.node_features();
  const int64_t row_bytes = graph.x_values().row_bytes();
  const std::byte* const x = graph.x_bytes().data();
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (i + kAhead < nodes.size()) __builtin_prefetch(x + nodes[i + kAhead] * row_bytes);
    graph.copy_x(nodes[i], std::span(out, static_cast<size_t>(width)));
    out += width;
  }
}

void copy_all(std::span<const int64_t> from, BatchBuffer& to) {
  std::copy(from.begin(), from.end(), to.as<int64_t>());
}

}  // namespace

LoadedGraph::LoadedGraph(std::shared_ptr<const GraphView> graph,
                         std::optional<std::span<const int64_t>> seeds, NeighbourLoading loading)
    : graph_(std::move(graph)),
      topology_(topology_of(*graph_)),
      loading_(std::move(loading)),
      fields_(*graph_, loading_.sampling, loading_.columns),
      process_(getpid()) {
  const NeighbourSampler refuses_what_cannot_be_sampled(topology_, loading_.sampling, loading_.batching.seed);
  if (loading_.cache_bytes > 0 && fields_.has(NeighbourField::x)) {
    const FeatureFile file = FeatureFile::column(graph_->set(), "x");
    const int64_t min = SharedScan::min_bytes(file.layout());
    if (loading_.cache_bytes < min)
      throw UsageError(fmt::format("cache_bytes: found {}, expected {} or more for rows of {} features",
                                   format_bytes(loading_.cache_bytes), format_bytes(min), file.width));
    rows_ = std::make_unique<ScannedRows>(file);
    rows_->resize(std::min(loading_.cache_bytes, rows_->max_bytes()));
  }
  if (!seeds) return;
  seeds_.emplace(seeds->begin(), seeds->end());
  for (const int64_t node : *seeds_)
    if (node < 0 || node >= graph_->nodes())
      throw UsageError(fmt::format("input_nodes: node {} of {}; expected 0 to {}", node, graph_->nodes(),
                                   graph_->nodes() - 1));
}

LoadedGraph::LoadedGraph(std::shared_ptr<const GraphView> graph, PartNodes parts, NeighbourLoading loading)
    : LoadedGraph(std::move(graph), std::nullopt, std::move(loading)) {
  parts_ = std::move(parts);
}

LoadedGraph::~LoadedGraph() {
  // The destructor of the scan would wait for a thread that does not exist in a child process.
  if (getpid() != process_) static_cast<void>(rows_.release());
}

int64_t LoadedGraph::items() const {
  if (parts_) return parts_->parts();
  return seeds_ ? static_cast<int64_t>(seeds_->size()) : graph_->nodes();
}

void LoadedGraph::append_seeds(int64_t i, SampledSubgraph::Column& seeds) const {
  if (!parts_) {
    seeds.push_back(seeds_ ? (*seeds_)[static_cast<size_t>(i)] : i);
    return;
  }
  const std::span<const int64_t> nodes = (*parts_)[i];
  seeds.insert(seeds.end(), nodes.begin(), nodes.end());
}

NeighbourBatches::NeighbourBatches(std::shared_ptr<LoadedGraph> source, uint32_t epoch, const Share& share,
                                   std::shared_ptr<BatchMemory> memory)
    : source_(std::move(source)),
      epoch_(epoch),
      list_(list_seeds(source_->items(), source_->loading().batching, epoch, share)),
      memory_(std::move(memory)),
      sampler_(source_->topology(), source_->loading().sampling, source_->loading().batching.seed),
      samples_(source_->rows(), {source_->loading().cache_bytes / kSampleShare, source_->loading().horizon}) {
}

void NeighbourBatches::give_up() {
  samples_.clear();
  spare_.clear();
}

CollatedBatch NeighbourBatches::take(int64_t batch) {
  const SampledSubgraph& graph = samples_.front().graph;
  CollatedBatch made;
  made.counts = {static_cast<int64_t>(list_[batch].size()), static_cast<int64_t>(graph.node.size()),
                 static_cast<int64_t>(graph.edge.size())};
  made.tensors = memory_->take(source_->fields().bytes(made.counts));
  return made;
}

CollatedBatch NeighbourBatches::make(int64_t batch) {
  CollatedBatch made;
  while (made.tensors.empty()) {
    sample_to(batch);
    try {
      made = take(batch);
    } catch (const BudgetExceeded&) {
      if (samples_.size() == 1) throw;
      samples_.limit((samples_.size() - 1) / 2);
      give_up();
    }
  }
  fill(samples_.front(), made);
  auto known = samples_.pop();
  if (source_->fields().has(NeighbourField::x)) gather_features(known, made[NeighbourField::x].as<float>());
  if (spare_.size() < kSpare) spare_.push_back(std::move(known.batch));
  return made;
}

NeighbourBatches::Sample NeighbourBatches::sample(int64_t batch) {
  Sample sample;
  if (!spare_.empty()) {
    sample = std::move(spare_.back());
    spare_.pop_back();
  }
  sample.batch = batch;
  seeds_.clear();
  for (const int64_t i : list_[batch]) source_->append_seeds(i, seeds_);
  sampler_.sample(seeds_, epoch_, source_->loading().targets, sample.graph);
  if (source_->rows() == nullptr || !source_->loading().sampling.disjoint) return sample;
  sample.different.clear();
  tree_.clear();
  table_.begin(sample.different, tree_, false);
  sample.number.resize(sample.graph.node.size());
  std::transform(sample.graph.node.begin(), sample.graph.node.end(), sample.number.begin(),
                 [&](int64_t node) { return table_.find_or_add(node, 0); });
  return sample;
}

// Makes `batch` the first sample in the queue, followed by as many later ones as the horizon and memory
// allow.
void NeighbourBatches::sample_to(int64_t batch) {
  if (samples_.empty() || samples_.front().batch != batch) {
    samples_.clear();
    samples_.add(sample(batch));
  }
  samples_.extend([&]() -> std::optional<Sample> {
    const int64_t next = samples_.back().batch + 1;
    if (next >= size()) return std::nullopt;
    return sample(next);
  });
}

void NeighbourBatches::fill(const Sample& sample, CollatedBatch& batch) const {
  const NeighbourFields& fields = source_->fields();
  const GraphView& view = source_->graph();
  const SampledSubgraph& graph = sample.graph;
  const auto to = [&](NeighbourField field) -> BatchBuffer& { return batch[field]; };
  std::copy(graph.col.begin(), graph.col.end(),
            std::copy(graph.row.begin(), graph.row.end(), to(NeighbourField::edge_index).as<int64_t>()));
  copy_all(graph.node, to(NeighbourField::n_id));
  copy_all(graph.edge, to(NeighbourField::e_id));
  copy_all(list_[sample.batch], to(NeighbourField::input_id));
  if (fields.has(NeighbourField::batch)) copy_all(graph.batch, to(NeighbourField::batch));
  if (fields.has(NeighbourField::nodes_per_hop)) {
    copy_all(graph.nodes_per_hop, to(NeighbourField::nodes_per_hop));
    copy_all(graph.edges_per_hop, to(NeighbourField::edges_per_hop));
  }
  if (fields.has(NeighbourField::y)) copy_rows(view.y(), 1, graph.node, to(NeighbourField::y));
  if (fields.has(NeighbourField::edge_weight))
    copy_rows(view.edge_weight(), 1, graph.edge, to(NeighbourField::edge_weight));
  if (fields.has(NeighbourField::edge_attr))
    copy_rows(view.edge_attr(), view.edge_features(), graph.edge, to(NeighbourField::edge_attr));
}

void NeighbourBatches::gather_features(const BatchesAhead<Sample>::KnownBatch& known, float* x) {
  const Sample& sample = known.batch;
  if (source_->rows() == nullptr) return copy_features(source_->graph(), sample.graph.node, x);
  samples_.read(known, x);
  // A node's index is at least its index among the distinct nodes, so copying from the back overwrites no row
  // that is still needed.
  const int64_t width = source_->graph().node_features();
  for (auto i = static_cast<int64_t>(sample.number.size()) - 1; i >= 0; --i) {
    const int64_t number = sample.number[static_cast<size_t>(i)];
    if (number != i) std::copy_n(x + number * width, width, x + i * width);
  }
}

}  // namespace plimsoll
