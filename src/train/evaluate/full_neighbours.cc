#include "train/evaluate/full_neighbours.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/workers.h"
#include "io/file.h"
#include "ops/allocator.h"
#include "rows/direct_rows.h"
#include "sample/topology/list_stream.h"
#include "train/evaluate/layer_run.h"

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
  const int64_t layers = model.options().layers;
  const std::vector<int64_t> judged = model.judged();
  std::vector<FeatureFile> files;
  FeatureFile from = FeatureFile::column(graph.set(), "x");
  for (int64_t layer = 0; layer < layers; ++layer) {
    const std::filesystem::path path = options.scratch / fmt::format("layer-{}.f32", layer);
    File out = File::create(path);
    {
      LayerRun run(topology, model, layer, from, begins, degrees);
      std::vector<LayerRun::Worker> own;
      for (int i = 0; i < options.threads; ++i) own.push_back(run.make_worker());
      Workers workers(options.threads);
      const auto take = [&](int64_t piece, int worker) {
        return run.take(piece, own[static_cast<size_t>(worker)]);
      };
      workers.run_stream(take, [&](int64_t piece, Turn& turn) {
        const at::Tensor said = run.run(piece, own[static_cast<size_t>(turn.worker())]);
        turn.wait();
        out.write(said.const_data_ptr(), said.nbytes());
        options.progress(layer * graph.nodes() + begins[static_cast<size_t>(piece) + 1],
                         layers * graph.nodes());
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
