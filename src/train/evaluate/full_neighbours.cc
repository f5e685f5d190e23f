#include "train/evaluate/full_neighbours.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/workers.h"
#include "io/file.h"
#include "ops/allocator.h"
#include "rows/direct_rows.h"
#include "rows/scanned_rows.h"
#include "sample/neighbour/neighbour_sampler.h"
#include "sample/neighbour/sample_shape.h"
#include "sample/topology/list_stream.h"
#include "train/engine/collate.h"
#include "train/plan/judging_caches.h"

namespace plimsoll {
namespace {

// A piece ends before it would have more of either; a node with more is one by itself.
constexpr int64_t kJudgedNodes = 1024;
constexpr int64_t kJudgedEdges = 16384;

// Where pieces begin: places among nodes 0 .. V-1, with V at the end.
Vector<int64_t, Tag::columns> cut_pieces(const Topology& topology) {
  Vector<int64_t, Tag::columns> begins{0};
  int64_t edges = 0;
  stream_ranges(topology, [&](int64_t node, std::span<const EdgeRange> lists) {
    for (const EdgeRange& list : lists) {
      const int64_t nodes = node - begins.back();
      edges += list.degree;
      if (nodes > 0 && (nodes == kJudgedNodes || edges > kJudgedEdges)) {
        begins.push_back(node);
        edges = list.degree;
      }
      ++node;
    }
  });
  if (topology.nodes() > 0) begins.push_back(topology.nodes());
  return begins;
}

// Edges into each node but self-loops, or the sum of their weights.
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

// One layer over all nodes.
class LayerRun {
 public:
  LayerRun(DiskTopology& topology, const Gnn& model, int64_t layer, const FeatureFile& from,
           std::span<const float> degrees)
      : model_(model), layer_(layer), topology_(topology), degrees_(degrees), rows_(from) {
    share_caches(topology, rows_);
  }

  // f32 [end - first, hidden] of the nodes first .. end-1. Thread-safe, each with a worker of its own.
  struct Worker {
    explicit Worker(const Topology& topology) : sampler(topology, {.fan_outs = {NeighbourChoice::kAll}}, 0) {}
    NeighbourSampler sampler;
    SampledSubgraph sample;
    Vector<int64_t, Tag::blocks> targets;
    GraphBlock block;
  };
  Worker make_worker() const { return Worker(topology_); }
  at::Tensor run(int64_t first, int64_t end, Worker& worker) {
    at::init_num_threads();
    const TagScope scope(Tag::activations);
    const c10::AutoGradMode no_gradients(false);
    worker.targets.resize(static_cast<size_t>(end - first));
    std::iota(worker.targets.begin(), worker.targets.end(), first);
    worker.sampler.sample(worker.targets, 0, worker.sample);
    fill(worker.sample, worker.block);
    const RowWidths widths{.node_features = rows_.width(), .edge_features = topology_.edge_width()};
    Batch batch = collate(worker.block, widths, collate_options());
    if (!degrees_.empty()) {
      batch.degrees = at::empty({batch.nodes()}, at::kFloat);
      auto* degree = batch.degrees.mutable_data_ptr<float>();
      for (const int64_t node : worker.sample.node) *degree++ = degrees_[static_cast<size_t>(node)];
    }
    batch.layers.resize(static_cast<size_t>(layer_) + 1, batch.layers.front());
    const at::Tensor x = layer_ == 0 ? model_.inputs(batch) : batch.x;
    return model_.run_layer(layer_, x, batch).contiguous();
  }

 private:
  CollateOptions collate_options() const {
    CollateOptions options = model_.collate_options();
    options.items = Items::nodes;
    options.layers = 1;
    options.degrees = false;  // those of the graph are known
    return options;
  }

  // The targets come first, and then what they have edges from.
  void fill(const SampledSubgraph& sample, GraphBlock& block) {
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
    rows_.read(sample.node, block.x.data());
  }

  const Gnn& model_;
  const int64_t layer_;
  const Topology& topology_;
  const std::span<const float> degrees_;
  ScannedRows rows_;
};

// What the layers said of nodes, judged.
class Judge {
 public:
  Judge(const Gnn& model, const std::vector<FeatureFile>& files) : model_(model) {
    for (const int64_t layer : model.judged())
      said_.push_back(std::make_unique<DirectRows>(files[static_cast<size_t>(layer)]));
  }
  // Of kJudgedNodes at most.
  SaidOfNodes run(std::span<const int64_t> nodes) {
    const TagScope scope(Tag::activations);
    const c10::AutoGradMode no_gradients(false);
    at::init_num_threads();
    std::vector<at::Tensor> outputs;
    for (const auto& rows : said_) {
      outputs.push_back(at::empty({static_cast<int64_t>(nodes.size()), rows->width()}, at::kFloat));
      rows->read(nodes, outputs.back().mutable_data_ptr<float>());
    }
    const at::Tensor embeddings = model_.join(outputs).contiguous();
    return {embeddings, model_.judge(embeddings).contiguous()};
  }

 private:
  const Gnn& model_;
  std::vector<std::unique_ptr<DirectRows>> said_;
};

// Where each layer said something of all nodes; the files of those that are not judged are gone.
std::vector<FeatureFile> run_layers(const GraphView& graph, DiskTopology& topology, const Gnn& model,
                                    const FullNeighbourOptions& options) {
  const Vector<int64_t, Tag::columns> begins = cut_pieces(topology);
  Vector<float, Tag::columns> degrees;
  if (model.options().conv == "gcn") degrees = degrees_of(topology, model.options().edge_weight);
  const auto pieces = static_cast<int64_t>(begins.size()) - 1;
  const int64_t layers = model.options().layers;
  const std::vector<int64_t> judged = model.judged();
  std::vector<FeatureFile> files;
  FeatureFile from = FeatureFile::column(graph.set(), "x");
  for (int64_t layer = 0; layer < layers; ++layer) {
    const std::filesystem::path path = options.scratch / fmt::format("layer-{}.f32", layer);
    File out = File::create(path);
    {
      LayerRun run(topology, model, layer, from, degrees);
      std::vector<LayerRun::Worker> own;
      for (int i = 0; i < options.threads; ++i) own.push_back(run.make_worker());
      Workers workers(options.threads);
      workers.run_ordered(pieces, [&](int64_t piece, Turn& turn) {
        const auto at = static_cast<size_t>(piece);
        const at::Tensor said = run.run(begins[at], begins[at + 1], own[static_cast<size_t>(turn.worker())]);
        turn.wait();
        out.write(said.const_data_ptr(), said.nbytes());
        options.progress(layer * graph.nodes() + begins[at + 1], layers * graph.nodes());
      });
    }
    from = {path, 0, graph.nodes(), model.options().hidden};
    files.push_back(from);
    if (layer > 0 && std::ranges::find(judged, layer - 1) == judged.end())
      std::filesystem::remove(files[static_cast<size_t>(layer) - 1].path);
  }
  return files;
}

}  // namespace

void judge_nodes(const GraphView& graph, DiskTopology& topology, const Gnn& model,
                 std::span<const int64_t> nodes, const FullNeighbourOptions& options,
                 std::span<float> logits) {
  Judge judge(model, run_layers(graph, topology, model, options));
  for (size_t first = 0; first < nodes.size(); first += kJudgedNodes) {
    const at::Tensor found =
        judge.run(nodes.subspan(first, std::min<size_t>(kJudgedNodes, nodes.size() - first))).logits;
    std::copy_n(found.const_data_ptr<float>(), found.numel(),
                logits.begin() + static_cast<int64_t>(first) * model.classes());
  }
}

void judge_every_node(const GraphView& graph, DiskTopology& topology, const Gnn& model,
                      const FullNeighbourOptions& options,
                      const std::function<void(const SaidOfNodes&)>& take) {
  Judge judge(model, run_layers(graph, topology, model, options));
  Vector<int64_t, Tag::columns> nodes;
  for (int64_t first = 0; first < graph.nodes(); first += kJudgedNodes) {
    nodes.resize(static_cast<size_t>(std::min(kJudgedNodes, graph.nodes() - first)));
    std::iota(nodes.begin(), nodes.end(), first);
    take(judge.run(nodes));
  }
}

FeatureFile judge_all_nodes(const GraphView& graph, DiskTopology& topology, const Gnn& model,
                            const FullNeighbourOptions& options) {
  const std::filesystem::path path = options.scratch / "nodes.f32";
  File out = File::create(path);
  judge_every_node(graph, topology, model, options, [&](const SaidOfNodes& said) {
    out.write(said.logits.const_data_ptr(), said.logits.nbytes());
  });
  return {path, 0, graph.nodes(), model.classes()};
}

}  // namespace plimsoll
