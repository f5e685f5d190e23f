#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "engine/model_file/gnn_file.h"
#include "engine/predict/full_neighbours.h"
#include "sample/topology/disk_topology.h"
#include "store/graph.h"

namespace plimsoll {

/// Pairs without an edge that each edge is ranked among.
inline constexpr int64_t kRankedNegatives = 100;
/// The K of Hits@K.
inline constexpr std::array<int64_t, 3> kHits = {1, 10, 50};

/// How well the edges of a split are told from pairs without one, by the dot products of embeddings.
struct LinkVerdict {
  std::string name;   ///< of the split
  int64_t edges = 0;  ///< of it
  /// Among as many uniform pairs without an edge as there are edges: mean binary cross-entropy, and areas as
  /// Ranking defines them.
  double loss = 0;
  std::optional<double> auc;
  std::optional<double> average_precision;
  /// Of the rank of each edge among kRankedNegatives pairs of its node with another neighbour, equal scores
  /// counted half, as in the Open Graph Benchmark (Hu et al., NeurIPS 2020): the mean of 1 / rank, and the
  /// shares of ranks up to each of kHits.
  double mrr = 0;
  std::array<double, kHits.size()> hits{};
};

/// Judges a model on the splits of a graph's edges, each by its name, from embeddings of all nodes
/// (engine/predict/full_neighbours.h). Negative pairs are no edges, nor were they held out; they depend on
/// `seed` alone. Holds 26 bytes an edge, and resizes `topology`, of the same graph. Errors: those of
/// judge_all_nodes(); InputError for a damaged column.
std::vector<LinkVerdict> judge_links(const GraphView& graph, DiskTopology& topology, const GnnModel& model,
                                     const std::vector<std::string>& splits, uint64_t seed,
                                     const FullNeighbourOptions& options);

/// The fields of `evaluate --json` (docs/command-line.md).
Json links_json(const std::vector<LinkVerdict>& verdicts, const std::string& model, int64_t seed);
/// The cells of a table for people: names of columns, and a row for each verdict.
std::vector<std::string> link_columns();
std::vector<std::string> link_row(const LinkVerdict& verdict);

}  // namespace plimsoll
