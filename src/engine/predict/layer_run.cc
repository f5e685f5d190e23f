#include "engine/predict/layer_run.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "engine/blocks/collate.h"
#include "engine/plan/blas_memory.h"
#include "engine/plan/evaluation_caches.h"
#include "memory/c_heap.h"
#include "ops/allocator.h"
#include "sample/neighbour/sample_shape.h"

namespace plimsoll {
namespace {

// Pieces of different sizes leave different holes in the heap; this share is added for them.
constexpr int64_t kHolesShare = 8;
// If samples reserve memory for this number of nodes, freeing one and making the next leaves no holes in the
// heap.
constexpr int64_t kUsualNodes = 20'000;

CollateOptions collate_options(const Gnn& model) {
  CollateOptions options = model.collate_options();
  options.items = Items::nodes;
  options.layers = 1;
  options.degrees = false;  // The degrees of the whole graph are known.
  return options;
}

// Settings of a thread while it runs a layer.
struct LayerScope {
  LayerScope() { at::init_num_threads(); }

  const TagScope tag{Tag::activations};
  const c10::AutoGradMode no_gradients{false};
};

// Makes the batch that layer `layer` reads. `nodes` is empty for a synthetic block.
Batch make_batch(const Gnn& model, int64_t layer, const GraphBlock& block, const RowWidths& widths,
                 std::span<const int64_t> nodes, std::span<const float> degrees) {
  Batch batch = collate(block, widths, collate_options(model));
  if (model.options().conv == ConvKind::gcn) {
    batch.degrees = at::ones({batch.nodes()}, at::kFloat);
    auto* degree = batch.degrees.mutable_data_ptr<float>();
    for (const int64_t node : nodes) *degree++ = degrees[static_cast<size_t>(node)];
  }
  batch.layers.resize(static_cast<size_t>(layer) + 1, batch.layers.front());
  return batch;
}

at::Tensor inputs_of(const Gnn& model, int64_t layer, const Batch& batch) {
  return layer == 0 ? model.inputs(batch) : batch.x;
}

PieceMemory try_out(const Gnn& model, int64_t layer, const PieceSize& size, const RowWidths& widths) {
  const int64_t before = bytes_outside_ledger();
  GraphBlock block;
  make_up_piece(size, widths, block);
  Slab slab;
  const SlabRange range = slab.take_all();
  {
    const RangeScope scope(range);
    const LayerScope layer_scope;
    const Batch batch = make_batch(model, layer, block, widths, {}, {});
    model.run_layer(layer, inputs_of(model, layer, batch), batch).contiguous();
  }
  return {.tensors = range.high(), .heap = std::max<int64_t>(bytes_outside_ledger() - before, 0)};
}

// Removes the edges from the first node, a hub, to itself.
void drop_self_loops(SampledSubgraph& sample) {
  size_t kept = 0;
  for (size_t e = 0; e < sample.row.size(); ++e) {
    if (sample.row[e] == 0) continue;
    sample.row[kept] = sample.row[e];
    sample.edge[kept++] = sample.edge[e];
  }
  for (SampledSubgraph::Column* column : {&sample.row, &sample.col, &sample.edge}) column->resize(kept);
  sample.edges_per_hop.back() = static_cast<int64_t>(kept);
}

}  // namespace

// Measures a part of the largest piece if the whole piece does not fit. The memory of a piece grows at most
// in proportion to its counts.
PieceMemory measure_pieces(const Gnn& model, int64_t layer, const PieceSize& largest,
                           const RowWidths& widths) {
  for (int64_t parts = 1;; parts *= 2) {
    try {
      const PieceMemory part = try_out(model, layer, largest.part(parts), widths);
      const int64_t tensors = parts * (part.tensors + part.tensors / kHolesShare);
      return {.tensors = tensors, .graphs = graph_bytes_of(largest, widths), .heap = part.heap};
    } catch (const BudgetExceeded&) {
      if (parts >= std::max(largest.nodes, largest.edges)) throw;
    }
  }
}

LayerRun::Worker::Worker(const Topology& topology)
    : sampler_(topology, {.fan_outs = {NeighbourChoice::kAll}}, 0) {}

void LayerRun::Worker::sample(const Piece& piece, const Topology& topology, SampledPiece& sampled) {
  if (piece.is_chunk()) {
    EdgeRange list;
    topology.read_lists(std::span(&piece.begin, 1), std::span(&list, 1));
    const int64_t first = piece.chunk * kPieceEdges;
    sampler_.sample_part(piece.begin, {list.first + first, std::min(list.degree - first, kPieceEdges)},
                         sampled.sample);
    return;
  }
  targets_.resize(static_cast<size_t>(piece.end - piece.begin));
  std::iota(targets_.begin(), targets_.end(), piece.begin);
  sampler_.sample(targets_, 0, sampled.sample);
}

LayerRun::LayerRun(DiskTopology& topology, const Gnn& model, int64_t layer, const FeatureFile& from,
                   const Pieces& pieces, const NeededPieces& needed, std::span<const float> degrees,
                   const FeatureOrder& order)
    : model_(model),
      layer_(layer),
      topology_(topology),
      pieces_(pieces),
      needed_(needed),
      degrees_(degrees),
      order_(order),
      rows_(from),
      sampler_(topology) {}

std::vector<LayerRun::Worker> LayerRun::begin(int count, const PieceMemory& each) {
  give_back_freed_memory();
  const int64_t tensors =
      (each.tensors + Packing::kAlignment - 1) / Packing::kAlignment * Packing::kAlignment;
  slab_.resize(count * tensors);
  ahead_ = share_caches(topology_, rows_, count * each.graphs, /*reads_all=*/!needed_);
  reserved_nodes_ = std::min(pieces_.largest.nodes, kUsualNodes);
  begin_pieces();
  std::vector<Worker> workers;
  for (int i = 0; i < count; ++i) {
    workers.emplace_back(topology_);
    workers.back().range_ = slab_.take(tensors);
    workers.back().block_.make_room({1, pieces_.largest.nodes, pieces_.largest.edges}, widths());
  }
  return workers;
}

std::vector<LayerRun::Worker> LayerRun::begin_alone() {
  give_back_freed_memory();
  slab_.resize(0);
  topology_.resize(topology_.min_bytes());
  rows_.resize(0);
  ahead_ = 0;
  reserved_nodes_ = 0;
  begin_pieces();
  std::vector<Worker> workers;
  workers.emplace_back(topology_);
  workers.back().range_ = slab_.take_all();
  return workers;
}

void LayerRun::begin_pieces() {
  hub_ = {};
  coming_ = std::make_unique<BatchesAhead<SampledPiece>>(
      &rows_, BatchesAhead<SampledPiece>::Options{ahead_, pieces_.count()});
  next_ = needed_from(0);
  due_ = next_;
}

// Returns the first needed piece from `number` on; count() if there is none.
int64_t LayerRun::needed_from(int64_t number) const {
  if (!needed_ || number >= pieces_.count()) return number;
  const int64_t next = needed_->next(number);
  return next == RowSet::kNone ? pieces_.count() : next;
}

void LayerRun::sample(int64_t number, Worker& by, SampledPiece& piece) const {
  piece.sample.node.reserve(static_cast<size_t>(reserved_nodes_));
  piece.sample.batch.reserve(static_cast<size_t>(reserved_nodes_));
  const Piece to_sample = pieces_.at(number);
  by.sample(to_sample, topology_, piece);
  if (to_sample.is_chunk() && !model_.collate_options().self_loops) drop_self_loops(piece.sample);
}

bool LayerRun::take(Worker& worker) {
  if (due_ >= pieces_.count()) return false;
  worker.number_ = due_;
  due_ = needed_from(due_ + 1);
  if (ahead_ == 0) return true;
  const auto sample_next = [&] {
    SampledPiece piece;
    sample(next_, sampler_, piece);
    next_ = needed_from(next_ + 1);
    return piece;
  };
  if (coming_->empty()) coming_->add(sample_next());
  coming_->extend([&] { return next_ < pieces_.count() ? std::optional(sample_next()) : std::nullopt; });
  worker.piece_ = coming_->pop();
  return true;
}

int64_t LayerRun::run(Worker& worker, Turn& turn,
                      const std::function<void(int64_t, const at::Tensor&)>& use) {
  // Memory that grew for the previous piece left holes that are not counted.
  if (reserved_nodes_ == 0) give_back_freed_memory();
  const RangeScope range(worker.range_);
  const LayerScope scope;
  if (ahead_ == 0) sample(worker.number_, worker, worker.piece_.batch);
  fill(worker);
  const Batch batch =
      make_batch(model_, layer_, worker.block_, widths(), worker.piece_.batch.rows(), degrees_);
  const at::Tensor x = inputs_of(model_, layer_, batch);
  const Piece piece = pieces_.at(worker.number_);
  if (piece.is_chunk()) {
    const NeighbourSum sum = model_.sum_neighbours(layer_, x, batch);
    turn.wait();
    hub_.add(sum);
    if (!piece.is_last_chunk()) return piece.begin;
    const NeighbourSum all = std::exchange(hub_, {});
    use(piece.begin, model_.finish_layer(layer_, all, x, batch).contiguous());
  } else {
    const at::Tensor output = model_.run_layer(layer_, x, batch).contiguous();
    turn.wait();
    use(piece.begin, output);
  }
  return piece.end;
}

// Adds the targets first, and then the nodes from which edges lead to them.
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
  order_.edges.apply(block.edge_attr);
  append_prefixes(sample, block.prefixes);
  block.x.resize(static_cast<size_t>(nodes * rows_.width()));
  coming_->read(worker.piece_, block.x.data());
  if (layer_ == 0) order_.nodes.apply(block.x);
}

}  // namespace plimsoll
