#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>

#include "engine/plan/rehearsal.h"
#include "memory/memory_share.h"
#include "nn/gnn.h"
#include "rows/feature_file.h"
#include "sample/block/column_order.h"
#include "sample/topology/disk_topology.h"
#include "store/graph.h"

namespace plimsoll {

struct FullNeighbourOptions {
  std::filesystem::path scratch;   ///< An existing folder with space for layer_bytes().
  MemoryShare memory = {};         ///< If no part of it is outside the ledger, there is no budget.
  Rehearsal* rehearsal = nullptr;  ///< If set, it receives the budget that the prediction needs, and no layer
                                   ///< is run; null: run.
  std::function<void(int64_t done, int64_t total)> progress = [](int64_t, int64_t) {};
  FeatureOrder order = {};  ///< Where the model finds each of its features in the graph's features.
};

/// A Gnn's outputs for some nodes: f32 [nodes, embedding()] and [nodes, classes()].
struct NodePredictions {
  at::Tensor embeddings;
  at::Tensor logits;
};

/// Returns the maximum size of the files that predict_nodes() and the functions below it store in their
/// scratch folder, for a graph of `nodes` nodes.
int64_t layer_bytes(const Gnn& model, int64_t nodes);

/// Predicts nodes of one giant graph with a Gnn from all their neighbours, into `logits`, f32 [nodes,
/// classes]. Each layer runs over all nodes before the next one starts (Hamilton et al., NeurIPS 2017,
/// Algorithm 1), so that neighbourhoods do not grow with the layers. A layer writes its outputs to a file.
/// The next layer reads its rows from this file (rows/scanned_rows.h). A piece of work is some nodes with all
/// their neighbours. A layer computes only the pieces that `nodes` need if they are clearly fewer than all
/// (engine/predict/needed_pieces.h). Pieces do not depend on the budget or the number of threads, and the
/// results have the same bits for any of these. Edges are read from `topology`, which must be of the same
/// graph, in the order of nodes. It is resized (share_caches).
///
/// Errors: BudgetTooSmall, with the smallest budget that works, if one thread without caches does not fit;
/// BudgetExceeded if hardly anything fits; those of the topology; InputError; Failure (disk).
void predict_nodes(const GraphView& graph, DiskTopology& topology, const Gnn& model,
                   std::span<const int64_t> nodes, const FullNeighbourOptions& options,
                   std::span<float> logits);
/// Does the same, but passes the outputs to `take`, some nodes at a time and in order; in a rehearsal only
/// the first nodes. Errors: also those of `take`.
void predict_nodes(const GraphView& graph, DiskTopology& topology, const Gnn& model,
                   std::span<const int64_t> nodes, const FullNeighbourOptions& options,
                   const std::function<void(const NodePredictions&)>& take);

/// Predicts every node, some nodes at a time and in order; in a rehearsal only the first nodes. Errors: those
/// of predict_nodes() and of `take`.
void predict_every_node(const GraphView& graph, DiskTopology& topology, const Gnn& model,
                        const FullNeighbourOptions& options,
                        const std::function<void(const NodePredictions&)>& take);

/// Predicts every node and writes the results to a file in `scratch`: f32 [V, classes]. Errors: those of
/// predict_nodes().
FeatureFile predict_all_nodes(const GraphView& graph, DiskTopology& topology, const Gnn& model,
                              const FullNeighbourOptions& options);

}  // namespace plimsoll
