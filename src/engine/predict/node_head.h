#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/blocks/exchange.h"
#include "nn/gnn.h"
#include "rows/direct_rows.h"
#include "rows/feature_file.h"

namespace plimsoll {

/// A Gnn's outputs for some nodes: f32 [nodes, embedding()] and [nodes, classes()].
struct NodePredictions {
  at::Tensor embeddings;
  at::Tensor logits;
};

/// Joins the outputs of the layers for some nodes and computes the nodes' logits.
class NodeHead {
 public:
  /// `files` has the outputs of each layer; those that embedding_layers() does not name are not read. `model`
  /// must outlive the object. Errors: those of RowReader.
  NodeHead(const Gnn& model, const std::vector<FeatureFile>& files);

  const Gnn& model() const { return model_; }
  /// Predicts up to kPieceTargets nodes. Errors: InputError that names the first node whose logits are not
  /// finite; those of RowReader::read(); BudgetExceeded.
  NodePredictions run(std::span<const int64_t> nodes);

 private:
  const Gnn& model_;
  std::vector<std::unique_ptr<DirectRows>> layer_outputs_;
};

/// The nodes to predict, in parts of kPieceTargets nodes; the last part may have fewer.
struct NodeParts {
  int64_t nodes = 0;  ///< Number of nodes of all parts.
  /// Returns the nodes of a part. The result is valid until the next call.
  std::function<std::span<const int64_t>(int64_t part)> at;

  int64_t count() const;
  /// Number of nodes of a part; 0 after the last.
  int64_t size(int64_t part) const;
};

/// Runs a head over all parts and passes the outputs to `take`, in order. The ranks that `exchange` connects
/// share the parts, and every rank gets all outputs; null: one process. Without `embeddings`, ranks do not
/// exchange them, and `take` gets none. The outputs are valid only during the call of `take`.
/// Errors: those of run() and of `take`; an error on one rank ends all ranks, with Interrupted or Failure;
/// RankLost.
void run_head(NodeHead& head, const NodeParts& parts, bool embeddings, Exchange* exchange,
              const std::function<void(const NodePredictions&)>& take);

/// Runs a head over the first part only, with the memory that run_head() needs on one of `ranks` ranks.
/// Errors: those of run() and of `take`.
void rehearse_head(NodeHead& head, const NodeParts& parts, bool embeddings, int ranks,
                   const std::function<void(const NodePredictions&)>& take);

/// Returns the maximum number of bytes that a rank sends in run_head() for `nodes` nodes.
int64_t max_bytes_sent_of_head(const Gnn& model, int64_t nodes, bool embeddings, int ranks);

}  // namespace plimsoll
