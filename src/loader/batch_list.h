#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "loader/batch_fields.h"
#include "sample/block/batches.h"
#include "store/graph_set.h"

namespace plimsoll {

/// Rules for putting the graphs of an epoch into batches. A batch is closed before it would exceed a limit: a
/// maximum of graphs, nodes, edges or bytes.
struct Batching {
  static constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
  int64_t graphs = 1;
  int64_t nodes = kNoLimit;
  int64_t edges = kNoLimit;
  int64_t bytes = kNoLimit;   ///< Maximum bytes of all tensors of a batch (BatchFields::bytes).
  bool skip_too_big = false;  ///< Leave out graphs that exceed a limit on their own.
  /// Minimum number of batches of a rank in an epoch, or 0: if the rank has m graphs, a batch has at most m /
  /// min_steps of them.
  int64_t min_steps = 0;
  bool drop_last = false;  ///< Leave out the last batch if it has fewer graphs than the limits allow.
  bool shuffle = false;
  uint64_t seed = 0;
};

/// The share of one process (rank) among several. Each process gets every ranks-th graph of an epoch's order,
/// and all get the same number of batches.
struct Share {
  int64_t rank = 0;
  int64_t ranks = 1;
};

/// The batches of an epoch, each a list of graphs.
struct BatchList {
  GraphList graphs;
  GraphList begins{0};  ///< [batches+1], offset of each batch in `graphs`.

  int64_t size() const { return static_cast<int64_t>(begins.size()) - 1; }
  std::span<const int64_t> operator[](int64_t batch) const {
    const auto b = static_cast<size_t>(batch);
    return std::span(graphs).subspan(static_cast<size_t>(begins[b]),
                                     static_cast<size_t>(begins[b + 1] - begins[b]));
  }
};

/// Lists the batches of epochs. Immutable, so any number of threads may call it.
class BatchLister {
 public:
  /// `graphs` are the graphs of the set to use. The set must outlive this object. Errors: UsageError for a
  /// graph that the set does not have, or that exceeds a limit on its own, unless such graphs are skipped;
  /// InputError for a damaged graph if sizes are limited; BudgetExceeded.
  BatchLister(const GraphSetView& set, const BatchFields& fields, std::span<const int64_t> graphs,
              const Batching& batching);

  /// Returns the batches of an epoch. Their order is the order of `graphs`; a shuffled order depends only on
  /// (seed, epoch). If the number of graphs is not divisible by the number of ranks, the order is extended
  /// with its first graphs, as in torch's DistributedSampler; with drop_last, it is cut instead. A rank with
  /// fewer batches than another repeats its first batches; with drop_last, all ranks get the minimum number
  /// instead. Errors: UsageError if the rank has fewer graphs than min_steps; InputError as for the
  /// constructor; BudgetExceeded.
  BatchList list(uint32_t epoch, const Share& share = {}) const;

  /// Number of graphs in an epoch, not counting skipped ones.
  int64_t graphs() const { return static_cast<int64_t>(graphs_.size()); }

 private:
  bool limits_sizes() const;
  bool exceeds(const BatchCounts& counts) const;
  bool fits(int64_t graph) const;
  int64_t max_graphs(int64_t graphs) const;
  BatchList cut(const GraphList& order, const Share& share) const;

  const GraphSetView& set_;
  BatchFields fields_;
  Batching batching_;
  GraphList graphs_;
};

}  // namespace plimsoll
