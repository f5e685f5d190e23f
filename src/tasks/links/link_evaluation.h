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

/// Number of pairs without an edge among which each edge is ranked.
inline constexpr int64_t kRankedNegatives = 100;
/// The K of Hits@K.
inline constexpr std::array<int64_t, 3> kHits = {1, 10, 50};

/// How well dot products of embeddings distinguish the edges of a split from pairs without an edge.
struct LinkResult {
  std::string name;   ///< Name of the split.
  int64_t edges = 0;  ///< Number of edges of the split.
  /// Compares the edges with the same number of uniformly drawn pairs without an edge: mean binary
  /// cross-entropy, and areas as defined by Ranking.
  double loss = 0;
  std::optional<double> auc;
  std::optional<double> average_precision;
  /// Computed from the rank of each edge among kRankedNegatives pairs of its node with another neighbour,
  /// where equal scores count half, as in the Open Graph Benchmark (Hu et al., NeurIPS 2020): the mean of 1 /
  /// rank, and the share of edges whose rank is at most K, for each K of kHits.
  double mrr = 0;
  std::array<double, kHits.size()> hits{};
};

/// Evaluates a model on the splits of a graph's edges, given by name, from embeddings of all nodes
/// (engine/predict/full_neighbours.h). Negative pairs are neither edges nor held-out edges; they depend only
/// on `seed`. Needs 26 bytes per edge of the largest split, and resizes `topology`, which must be of the same
/// graph. With ranks, all ranks call it, and each gets all results. Errors: InputError for a damaged column
/// and for a score that is not finite; BudgetExceeded; those of EvaluationNegatives, predict_all_nodes() and
/// RankMessages.
std::vector<LinkResult> evaluate_links(const GraphView& graph, DiskTopology& topology, const GnnModel& model,
                                       const std::vector<std::string>& splits, uint64_t seed,
                                       const FullNeighbourOptions& options);

/// Returns the fields of `evaluate --json` (docs/command-line.md).
Json links_json(const std::vector<LinkResult>& results, const std::string& model, int64_t seed);
/// Return the column names of a table, and the cells of a row for a result.
std::vector<std::string> link_columns();
std::vector<std::string> link_row(const LinkResult& result);

}  // namespace plimsoll
