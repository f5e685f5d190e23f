#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "loader/batch_fields.h"
#include "sample/block/batches.h"
#include "store/graph_set.h"

namespace plimsoll {

/// How the graphs of an epoch are put into batches. A batch closes before it would exceed a limit.
struct Batching {
  static constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
  int64_t graphs = 1;
  int64_t nodes = kNoLimit;
  int64_t edges = kNoLimit;
  int64_t bytes = kNoLimit;   ///< of all tensors of the batch (BatchFields::bytes)
  bool skip_too_big = false;  ///< leave a graph out that exceeds a limit by itself
  int64_t min_steps = 0;   ///< batches an epoch at least: m graphs go into batches of m / min_steps at most
  bool drop_last = false;  ///< leave the last batch out where it has fewer graphs than the others may have
  bool shuffle = false;
  uint64_t seed = 0;
};

/// Which of several processes this is. Each gets every ranks-th graph of an epoch's order, and all get the
/// same number of batches.
struct Share {
  int64_t rank = 0;
  int64_t ranks = 1;
};

/// The batches of an epoch, each a list of graphs.
struct BatchList {
  GraphList graphs;
  GraphList begins{0};  ///< [batches+1]

  int64_t size() const { return static_cast<int64_t>(begins.size()) - 1; }
  std::span<const int64_t> operator[](int64_t batch) const {
    const auto b = static_cast<size_t>(batch);
    return std::span(graphs).subspan(static_cast<size_t>(begins[b]),
                                     static_cast<size_t>(begins[b + 1] - begins[b]));
  }
};

/// Lists the batches of epochs. Immutable, so any number of threads may ask.
class BatchLister {
 public:
  /// `graphs`: those of the set to go over. Errors: UsageError for one that the set does not have, or that
  /// exceeds a limit by itself unless it is skipped; InputError for a damaged one where there are limits on
  /// sizes. The set must outlive it.
  BatchLister(const GraphSetView& set, const BatchFields& fields, std::span<const int64_t> graphs,
              const Batching& batching);

  /// The order is that of the graphs or, shuffled, depends on (seed, epoch) alone. Where it does not divide
  /// by the ranks it begins again, as in torch's DistributedSampler, or with drop_last ends sooner; a rank
  /// that has fewer batches than another begins again with its first, or with drop_last all have the fewest.
  /// Errors: UsageError where there are fewer graphs than min_steps; InputError as above.
  BatchList list(uint32_t epoch, const Share& share = {}) const;

  /// How many graphs an epoch goes over, those that are skipped left out.
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
