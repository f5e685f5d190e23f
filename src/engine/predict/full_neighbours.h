#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>

#include "engine/plan/rehearsal.h"
#include "nn/gnn.h"
#include "rows/feature_file.h"
#include "sample/topology/disk_topology.h"
#include "store/graph.h"

namespace plimsoll {

struct FullNeighbourOptions {
  std::filesystem::path scratch;  ///< an existing folder with room for layer_bytes()
  int threads = 1;                ///< at most; as many work as the budget has room for
  int64_t outside_ledger = 0;  ///< bytes of the budget that the ledger does not have; 0: there is no budget
  Rehearsal* rehearsal = nullptr;  ///< learns which budget that needs: no layer is run; null: none
  std::function<void(int64_t done, int64_t total)> progress = [](int64_t, int64_t) {};
};

/// The size of the files that judge_nodes() and the functions below it have in their scratch folder at most,
/// for a graph of `nodes` nodes.
int64_t layer_bytes(const Gnn& model, int64_t nodes);

/// What a Gnn says of nodes of one giant graph from all neighbours, f32 [nodes, classes] into `logits`: one
/// layer over all nodes before the next (Hamilton et al., NeurIPS 2017, Algorithm 1), so that no
/// neighbourhood grows with the layers. What a layer says goes to a file, from which the next one reads its
/// rows, in the order of the file where memory has room for them (rows/scanned_rows.h). A piece of work is
/// some nodes with all their neighbours, cut in the same places for every budget and number of threads;
/// results are the same bits for both. Edges come from `topology`, of the same graph, in the order of nodes.
/// It is resized (share_caches).
///
/// Errors: BudgetTooSmall, with the smallest budget that works, where one thread without caches does not fit;
/// BudgetExceeded, where nearly nothing does; those of the topology; InputError; Failure (disk).
void judge_nodes(const GraphView& graph, DiskTopology& topology, const Gnn& model,
                 std::span<const int64_t> nodes, const FullNeighbourOptions& options,
                 std::span<float> logits);

/// What a Gnn says of some nodes: f32 [nodes, embedding()] and [nodes, classes()].
struct SaidOfNodes {
  at::Tensor embeddings;
  at::Tensor logits;
};

/// The same of every node, some at a time, in their order; in a rehearsal of the first alone. Errors:
/// likewise, and those of `take`.
void judge_every_node(const GraphView& graph, DiskTopology& topology, const Gnn& model,
                      const FullNeighbourOptions& options,
                      const std::function<void(const SaidOfNodes&)>& take);

/// The same of every node, to a file in `scratch`: f32 [V, classes]. Errors: likewise.
FeatureFile judge_all_nodes(const GraphView& graph, DiskTopology& topology, const Gnn& model,
                            const FullNeighbourOptions& options);

}  // namespace plimsoll
