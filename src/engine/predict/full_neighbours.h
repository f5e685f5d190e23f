#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>

#include "engine/blocks/exchange.h"
#include "engine/plan/rehearsal.h"
#include "engine/predict/node_head.h"
#include "memory/memory_share.h"
#include "nn/gnn.h"
#include "rows/feature_file.h"
#include "sample/block/column_order.h"
#include "sample/topology/disk_topology.h"
#include "store/graph.h"

namespace plimsoll {

/// How the functions below predict.
struct FullNeighbourOptions {
  /// An existing folder with space for layer_bytes(). The files of layers are left there; the caller removes
  /// them.
  std::filesystem::path scratch;
  MemoryShare memory = {};  ///< If its outside_ledger is 0, the prediction has no budget.
  /// If set, it receives the budget that the prediction needs, and no layer runs. If null, the layers run.
  Rehearsal* rehearsal = nullptr;
  /// Gets how many of the nodes of all layers are done. Any worker may call it, but only one at a time.
  std::function<void(int64_t done, int64_t total)> progress = [](int64_t, int64_t) {};
  FeatureOrder order = {};  ///< Where the model finds each of its features in the graph's features.
  bool embeddings = false;  ///< Whether `take` also gets the nodes' embeddings.
  int ranks = 1;            ///< Number of processes that predict together, each with a folder of its own.
  Exchange* exchange = nullptr;  ///< Connects them; null if there is one, or in a rehearsal.
};

/// Returns the maximum number of bytes that the functions below store in their scratch folder, for a graph of
/// `nodes` nodes.
int64_t layer_bytes(const Gnn& model, int64_t nodes);

/// Predicts the given nodes of one giant graph with a Gnn from all their neighbours. Writes the results to
/// `logits`, f32 [nodes, classes]. Each layer runs over all nodes before the next one starts (Hamilton et
/// al., NeurIPS 2017, Algorithm 1), so that neighbourhoods do not grow with the layers. A layer writes its
/// outputs to a file. The next layer reads its rows from this file (rows/scanned_rows.h). A piece of work
/// consists of some nodes with all their neighbours. If `nodes` need clearly fewer pieces than there are, a
/// layer computes only these (engine/predict/needed_pieces.h). Pieces do not depend on the budget or the
/// number of threads, and the results have the same bits for every budget and number of threads. Edges are
/// read in the order of nodes from `topology`, which must be that of `graph`. The caches of `topology` are
/// resized (share_caches).
///
/// With ranks, all ranks call the function. Each computes a part of every layer
/// (engine/predict/rank_rounds.h) and sends it to all others, and then runs the head for a part of the nodes.
/// Every rank gets all results.
///
/// Errors: BudgetTooSmall, with the smallest budget that works, if the budget does not even fit one thread
/// without caches; BudgetExceeded if memory runs out before the need is known, or if there is no budget;
/// every error of the topology; InputError; Failure (disk); RankLost, and Interrupted or Failure if another
/// rank had an error.
void predict_nodes(const GraphView& graph, DiskTopology& topology, const Gnn& model,
                   std::span<const int64_t> nodes, const FullNeighbourOptions& options,
                   std::span<float> logits);
/// Does the same, but passes the outputs to `take`, some nodes at a time and in order. The outputs are valid
/// only during the call of `take`. In a rehearsal, only the first nodes are passed. Errors: also those of
/// `take`.
void predict_nodes(const GraphView& graph, DiskTopology& topology, const Gnn& model,
                   std::span<const int64_t> nodes, const FullNeighbourOptions& options,
                   const std::function<void(const NodePredictions&)>& take);

/// Predicts every node, and passes the outputs to `take`, some nodes at a time and in order. The outputs are
/// valid only during the call of `take`. In a rehearsal, only the first nodes are passed. Errors: those of
/// predict_nodes() and of `take`.
void predict_every_node(const GraphView& graph, DiskTopology& topology, const Gnn& model,
                        const FullNeighbourOptions& options,
                        const std::function<void(const NodePredictions&)>& take);

/// Predicts every node and writes the results to a file in `scratch`: f32 [V, classes]. Errors: those of
/// predict_nodes().
FeatureFile predict_all_nodes(const GraphView& graph, DiskTopology& topology, const Gnn& model,
                              const FullNeighbourOptions& options);

}  // namespace plimsoll
