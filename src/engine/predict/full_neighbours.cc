#include "engine/predict/full_neighbours.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/units.h"
#include "base/workers.h"
#include "engine/blocks/ending.h"
#include "engine/plan/planner.h"
#include "engine/predict/layer_run.h"
#include "engine/predict/needed_pieces.h"
#include "engine/predict/shared_layer.h"
#include "io/file.h"
#include "memory/budget_caps.h"
#include "memory/ledger.h"
#include "rows/node_numbers.h"
#include "sample/topology/list_stream.h"

namespace plimsoll {
namespace {

// Memory of a thread in addition to its BLAS buffers: its stack, tensor objects, and memory that malloc
// loses. With two threads, 0.2 to 0.4 MiB per thread were measured.
constexpr int64_t kHeapOfWorker = 256 * kKiB;

// Counts the edges into each node, self-loops excluded, or sums their weights.
Vector<float, Tag::columns> degrees_of(const Topology& topology, bool by_weight) {
  Vector<float, Tag::columns> degrees(static_cast<size_t>(topology.nodes()));
  Vector<int64_t, Tag::blocks> edges;
  Vector<float, Tag::blocks> weights;
  int64_t edge = 0;
  double sum = 0;
  stream_lists(
      topology,
      [&](int64_t node, std::span<const int64_t> neighbours) {
        weights.assign(neighbours.size(), 1);
        edges.resize(by_weight ? neighbours.size() : 0);
        std::iota(edges.begin(), edges.end(), edge);
        if (by_weight) topology.read_edge_values(edges, weights);
        edge += std::ssize(neighbours);
        for (size_t i = 0; i < neighbours.size(); ++i)
          if (neighbours[i] != node) sum += weights[i];
      },
      [&](int64_t node) { degrees[static_cast<size_t>(node)] = static_cast<float>(std::exchange(sum, 0)); });
  return degrees;
}

// Makes a sparse file of `numbers` f32 zeros, which uses no disk space.
void make_zeros(const std::filesystem::path& path, int64_t numbers) {
  File::create(path);
  std::filesystem::resize_file(path, static_cast<uintmax_t>(numbers) * sizeof(float));
}

// Runs all layers, one after the other, each over all nodes.
class Layers {
 public:
  Layers(const GraphView& graph, DiskTopology& topology, const Gnn& model,
         const FullNeighbourOptions& options)
      : graph_(graph),
        topology_(topology),
        model_(model),
        options_(options),
        pieces_(cut_pieces(topology)),
        needed_(static_cast<size_t>(model.options().layers)) {
    if (model.options().conv != ConvKind::gcn) return;
    if (options.rehearsal != nullptr)
      degrees_.resize(static_cast<size_t>(topology.nodes()));
    else
      degrees_ = degrees_of(topology, model.options().edge_weight);
  }

  // Restricts the layers to what these nodes need. The rows of other nodes may be zeros.
  void restrict_to(std::span<const int64_t> nodes) {
    if (options_.rehearsal != nullptr) return;  // The budget is stated for the prediction of all nodes.
    topology_.resize(topology_.min_bytes());
    needed_ = needed_pieces(topology_, pieces_, nodes, model_.options().layers);
    if (options_.exchange != nullptr) agree_on_needed();
  }

  // Returns the file of each layer's outputs for all nodes. The files of layers that the head does not read
  // are removed.
  std::vector<FeatureFile> run() {
    const std::vector<int64_t> evaluated = model_.embedding_layers();
    std::vector<FeatureFile> files;
    const auto numbers = numbers_for(graph_);
    FeatureFile from = numbers ? numbers->file() : FeatureFile::column(graph_.set(), "x");
    measure(from.width);
    for (int64_t layer = 0; layer < model_.options().layers; ++layer) {
      const std::filesystem::path path = options_.scratch / fmt::format("layer-{}.f32", layer);
      run(layer, from, path);
      from = {path, 0, graph_.nodes(), model_.options().hidden};
      files.push_back(from);
      if (layer > 0 && std::ranges::find(evaluated, layer - 1) == evaluated.end())
        std::filesystem::remove(files[static_cast<size_t>(layer) - 1].path);
    }
    topology_.resize(topology_.min_bytes());  // Edges are not needed any more.
    return files;
  }

 private:
  // Layers after the first read rows of the same width, and need the same memory.
  void measure(int64_t features) {
    topology_.resize(topology_.min_bytes());
    for (int64_t layer = 0; layer < std::min<int64_t>(model_.options().layers, 2); ++layer) {
      const RowWidths widths{.node_features = layer == 0 ? features : model_.options().hidden,
                             .edge_features = topology_.edge_width()};
      workers_.push_back(measure_pieces(model_, layer, pieces_.largest, widths));
      grown_ += workers_.back().heap;
    }
    for (PieceMemory& worker : workers_) {
      worker.heap = grown_ + kHeapOfWorker;  // The BLAS buffers of earlier layers stay.
      max_ = std::max(max_, worker.sum());
    }
  }

  // If the memory of a rank was too small to restrict the layers, all ranks compute all pieces.
  void agree_on_needed() {
    const double mine = std::ranges::any_of(needed_, &NeededPieces::has_value) ? 1 : 0;
    std::vector<double> all(static_cast<size_t>(options_.ranks));
    gather(*options_.exchange, {&mine, 1}, all);
    if (std::ranges::find(all, 0.0) != all.end()) std::ranges::fill(needed_, std::nullopt);
  }

  void run(int64_t layer, const FeatureFile& from, const std::filesystem::path& path) {
    topology_.resize(topology_.min_bytes());
    const NeededPieces& needed = needed_[static_cast<size_t>(layer)];
    const int64_t width = model_.options().hidden;
    if (needed || options_.ranks > 1 || options_.rehearsal != nullptr)
      make_zeros(path, graph_.nodes() * width);
    if (options_.ranks == 1) {
      LayerFile file(File::update(path), width);
      return run(layer, from, needed, file);
    }
    SharedLayer shared(pieces_, needed, options_.ranks, width, path);
    if (options_.rehearsal != nullptr) {
      options_.rehearsal->add_bytes_sent(shared.max_bytes_sent());
      return run(layer, from, needed, shared);
    }
    const NeededPieces& own = shared.join(*options_.exchange);
    shared.finish(error_of([&] { run(layer, from, own, shared); }));
  }

  void run(int64_t layer, const FeatureFile& from, const NeededPieces& needed, LayerOutputs& outputs) {
    LayerRun layer_run(topology_, model_, layer, from, pieces_, needed, degrees_, options_.order);
    const PieceMemory& each = workers_[static_cast<size_t>(std::min<int64_t>(layer, 1))];
    const int64_t open = Ledger::process().held();  // Includes the memory of reading rows and of messages.
    if (options_.rehearsal != nullptr)
      return options_.rehearsal->need(budget_for(open + each.sum() - kHeapOfWorker));
    // The slack of the budget covers the heap of the first worker.
    const int64_t cap = std::min(Ledger::process().cap(), Ledger::kUnlimited - kHeapOfWorker);
    const int64_t free = cap - open + kHeapOfWorker;
    // With several workers, up to half of the memory is used for caches, because most workers would otherwise
    // wait for rows.
    const int64_t caches = std::min(layer_run.max_cache_bytes(), free / 2);
    const int64_t fit = std::max((free - caches) / each.sum(), std::min<int64_t>(free / each.sum(), 1));
    const auto count = static_cast<int>(std::min<int64_t>(fit, options_.memory.threads));
    if (count > 0) try {
        const BudgetCaps::Reservation heap(count * each.heap - kHeapOfWorker);
        return run(layer, layer_run, layer_run.begin(count, each), outputs);
      } catch (const BudgetExceeded&) {  // A piece left more holes in the heap than planned.
      }
    const BudgetCaps::Reservation heap(grown_);
    try {
      run(layer, layer_run, layer_run.begin_alone(), outputs);
    } catch (const BudgetExceeded& refusal) {
      throw_too_small(open + max_ - kHeapOfWorker, refusal);
    }
  }

  void run(int64_t layer, LayerRun& run, std::vector<LayerRun::Worker> own, LayerOutputs& outputs) {
    outputs.begin();
    Workers workers(static_cast<int>(own.size()));
    const auto take = [&](int64_t, int worker) { return run.take(own[static_cast<size_t>(worker)]); };
    workers.run_stream(take, [&](int64_t, Turn& turn) {
      const auto add = [&](int64_t first, const at::Tensor& rows) {
        outputs.add(first, {rows.const_data_ptr<float>(), static_cast<size_t>(rows.numel())});
      };
      const int64_t done = run.run(own[static_cast<size_t>(turn.worker())], turn, add);
      options_.progress(layer * graph_.nodes() + outputs.estimate_done(done),
                        model_.options().layers * graph_.nodes());
    });
  }

  // Returns the budget for `needed` bytes of the ledger, including the bytes outside the ledger.
  int64_t budget_for(int64_t needed) const { return stated_budget(options_.memory.outside_ledger + needed); }

  [[noreturn]] void throw_too_small(int64_t needed, const BudgetExceeded& refusal) const {
    if (options_.memory.outside_ledger == 0) throw refusal;
    const int64_t missing = refusal.bytes_missing();
    const int64_t budget = budget_for(std::max(needed, Ledger::process().cap() + grown_ + missing));
    const PieceSize& largest = pieces_.largest;
    throw BudgetTooSmall(fmt::format(
        "nodes are evaluated from all their neighbours, up to {} nodes with {} edges at a time; the "
        "smallest budget that works is {} bytes ({}); raise --budget",
        largest.targets, largest.edges, budget, format_bytes(budget)));
  }

  const GraphView& graph_;
  DiskTopology& topology_;
  const Gnn& model_;
  const FullNeighbourOptions& options_;
  const Pieces pieces_;
  std::vector<NeededPieces> needed_;  // The pieces of each layer.
  Vector<float, Tag::columns> degrees_;
  std::vector<PieceMemory> workers_;  // Memory of a worker in the first layer, and in each later layer.
  int64_t max_ = 0;                   // Maximum of workers_, in bytes.
  int64_t grown_ = 0;                 // Growth of a thread's BLAS buffers.
};

// Runs the head over all parts; in a rehearsal only over the first, because the others need the same memory.
void run_head(NodeHead& head, const NodeParts& parts, const FullNeighbourOptions& options,
              const std::function<void(const NodePredictions&)>& take) {
  if (options.rehearsal == nullptr) return run_head(head, parts, options.embeddings, options.exchange, take);
  if (options.ranks > 1)
    options.rehearsal->add_bytes_sent(
        max_bytes_sent_of_head(head.model(), parts.nodes, options.embeddings, options.ranks));
  rehearse_head(head, parts, options.embeddings, options.ranks, take);
}

}  // namespace

int64_t layer_bytes(const Gnn& model, int64_t nodes) {
  const std::vector<int64_t> evaluated = model.embedding_layers();
  int64_t width = 0, max_width = 0;
  for (int64_t layer = 0; layer < model.options().layers; ++layer) {
    width += model.options().hidden;
    max_width = std::max(max_width, width);
    if (layer > 0 && std::ranges::find(evaluated, layer - 1) == evaluated.end())
      width -= model.options().hidden;
  }
  return std::max(max_width, width + model.classes()) * nodes * static_cast<int64_t>(sizeof(float));
}

void predict_nodes(const GraphView& graph, DiskTopology& topology, const Gnn& model,
                   std::span<const int64_t> nodes, const FullNeighbourOptions& options,
                   std::span<float> logits) {
  if (options.rehearsal != nullptr) std::ranges::fill(logits, 0.0F);
  size_t done = 0;
  predict_nodes(graph, topology, model, nodes, options, [&](const NodePredictions& predictions) {
    if (options.rehearsal != nullptr) return;
    const at::Tensor& found = predictions.logits;
    std::copy_n(found.const_data_ptr<float>(), found.numel(), logits.subspan(done).begin());
    done += static_cast<size_t>(found.numel());
  });
}

void predict_nodes(const GraphView& graph, DiskTopology& topology, const Gnn& model,
                   std::span<const int64_t> nodes, const FullNeighbourOptions& options,
                   const std::function<void(const NodePredictions&)>& take) {
  Layers layers(graph, topology, model, options);
  layers.restrict_to(nodes);
  NodeHead head(model, layers.run());
  NodeParts parts{.nodes = std::ssize(nodes), .at = {}};
  parts.at = [&](int64_t part) {
    return nodes.subspan(static_cast<size_t>(part * kPieceTargets), static_cast<size_t>(parts.size(part)));
  };
  run_head(head, parts, options, take);
}

void predict_every_node(const GraphView& graph, DiskTopology& topology, const Gnn& model,
                        const FullNeighbourOptions& options,
                        const std::function<void(const NodePredictions&)>& take) {
  NodeHead head(model, Layers(graph, topology, model, options).run());
  Vector<int64_t, Tag::columns> nodes;
  NodeParts parts{.nodes = graph.nodes(), .at = {}};
  parts.at = [&](int64_t part) {
    nodes.resize(static_cast<size_t>(parts.size(part)));
    std::iota(nodes.begin(), nodes.end(), part * kPieceTargets);
    return std::span<const int64_t>(nodes);
  };
  run_head(head, parts, options, take);
}

FeatureFile predict_all_nodes(const GraphView& graph, DiskTopology& topology, const Gnn& model,
                              const FullNeighbourOptions& options) {
  const std::filesystem::path path = options.scratch / "nodes.f32";
  {
    File out = File::create(path);
    predict_every_node(graph, topology, model, options, [&](const NodePredictions& predictions) {
      out.write(predictions.logits.const_data_ptr(), predictions.logits.nbytes());
    });
  }
  if (options.rehearsal != nullptr) make_zeros(path, graph.nodes() * model.classes());
  return {path, 0, graph.nodes(), model.classes()};
}

}  // namespace plimsoll
