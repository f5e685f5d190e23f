// Prints training or evaluation data of link prediction on a graph as JSON. Compared with PyTorch Geometric
// in tests/python/test_link_prediction.py. The data is a block of edges as training reads it, or the negative
// pairs for the edges of a split.
//
//   link_twin GRAPH block BATCH_SIZE BLOCK_SEEDS NEGATIVES SEED NUMBER FAN_OUT...
//   link_twin GRAPH judged SPLIT SEED RANKED

#include <fmt/format.h>

#include <string_view>

#include "base/json.h"
#include "sample/neighbour/neighbour_source.h"

using namespace plimsoll;

namespace {

Json block(char** argv) {
  NeighbourSourceOptions options;
  options.blocks = {.batch_size = std::stoll(argv[3]), .block_seeds = std::stoll(argv[4])};
  options.negatives = std::stoll(argv[5]);
  options.exclude_targets = true;
  options.seed = options.blocks.seed = std::stoull(argv[6]);
  const int64_t number = std::stoll(argv[7]);
  for (char** fan_out = argv + 8; *fan_out != nullptr; ++fan_out)
    options.neighbours.fan_outs.push_back(std::stoll(*fan_out));
  const NeighbourSource source(argv[1], options);
  GraphBlock block;
  source.read(std::span(&number, 1), block);
  return {{"x", block.x}, {"edges", block.edges}, {"pairs", block.pairs}, {"pair_y", block.pair_y}};
}

Json evaluation_negatives(char** argv) {
  const GraphView graph(argv[1]);
  const CsrTopology topology = topology_of(graph);
  const auto split = static_cast<size_t>(std::stoll(argv[3]));
  EvaluationNegatives negatives(topology, graph, split, std::stoull(argv[4]));
  const auto edges = graph.split_edges(split);
  std::vector<int64_t> nodes(edges.size() / 2), uniform_nodes(nodes.size()), uniform_neighbours(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) nodes[i] = edges[2 * i + 1];
  negatives.uniform(0, uniform_nodes, uniform_neighbours);
  Vector<int64_t, Tag::columns> ranked_nodes, ranked_neighbours;
  negatives.ranked(0, nodes, std::stoll(argv[5]), ranked_nodes, ranked_neighbours);
  return {{"nodes", uniform_nodes},
          {"neighbours", uniform_neighbours},
          {"ranked_nodes", ranked_nodes},
          {"ranked_neighbours", ranked_neighbours}};
}

}  // namespace

int main(int, char** argv) {
  const Json json = argv[2] == std::string_view("block") ? block(argv) : evaluation_negatives(argv);
  fmt::print("{}\n", json.dump());
}
