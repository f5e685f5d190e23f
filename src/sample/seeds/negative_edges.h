#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "memory/vector.h"
#include "sample/seeds/allowed_pairs.h"
#include "sample/seeds/draws.h"
#include "sample/topology/list_search.h"
#include "sample/topology/topology.h"

namespace plimsoll {

struct NegativeOptions {
  bool avoid_existing = true;  ///< Look up existing edges in the lists, which must ascend, and avoid them.
  bool self_loops = false;     ///< Whether a node may be drawn as its own neighbour.
};

/// Draws pairs of nodes that are not edges, for link prediction: the node whose list would contain the edge,
/// and the missing neighbour. Each allowed pair is exactly equally likely. A neighbour is drawn by its rank
/// among the nodes missing from the list, so that no draw is wasted, however long the list is. A pair not
/// found after 1,000 draws is drawn from a list of all allowed pairs.
///
/// Draws are a function of (seed, epoch, number of the pair or the edge) only. Not thread-safe: it keeps
/// scratch memory. The topology must outlive it.
class NegativeEdges {
 public:
  /// Returns whether the caller rejects a pair; another pair is drawn instead.
  using Excluded = std::function<bool(int64_t node, int64_t neighbour)>;

  /// If existing edges are avoided, lists must ascend without duplicates: require_ascending_lists(). Errors:
  /// UsageError for a graph of fewer than 2 nodes or, if existing edges are avoided, of V (V - 1) edges or
  /// more, in which no pair may be left.
  NegativeEdges(const Topology& topology, const NegativeOptions& options, uint64_t seed,
                Excluded excluded = {});

  /// Draws pairs uniformly: the pairs with the numbers first, first + 1, ... of an epoch, as many as fit into
  /// `nodes` and `neighbours`. A pair may occur more than once. Errors: UsageError if all pairs are edges or
  /// excluded; Interrupted; those of the topology.
  void uniform(int64_t first, uint32_t epoch, std::span<int64_t> nodes, std::span<int64_t> neighbours);
  /// Draws the pairs with these numbers. Errors: the same.
  void uniform(std::span<const int64_t> numbers, uint32_t epoch, std::span<int64_t> nodes,
               std::span<int64_t> neighbours);

  /// Draws like PyTorch Geometric's structured_negative_sampling: for each of `nodes`, a node that is not its
  /// neighbour. edges[i] keys the draws for nodes[i], for example the number of the positive edge. Errors:
  /// UsageError for a node that has no negative edge; those of the topology.
  void structured(std::span<const int64_t> nodes, std::span<const int64_t> edges, uint32_t epoch,
                  std::span<int64_t> neighbours);

 private:
  void count_allowed(std::span<const int64_t> nodes);
  void find_neighbours(std::span<const int64_t> nodes, std::span<int64_t> neighbours);
  [[noreturn]] void refuse_node(int64_t node) const;
  void begin(std::span<const int64_t> numbers, uint32_t epoch, uint64_t part);
  void draw_from_all(std::span<int64_t> nodes, std::span<int64_t> neighbours);
  void keep_waiting(std::span<const int64_t> nodes, std::span<int64_t> neighbours);

  const Topology& topology_;
  NegativeOptions options_;
  uint64_t seed_;
  Excluded excluded_;
  ListSearch search_;
  AllowedPairs allowed_pairs_;

  template <typename T>
  using Column = Vector<T, Tag::blocks>;
  Column<EdgeRange> lists_;  // Lists of the nodes.
  Column<int64_t> places_;   // Number of neighbours with a lower number than the node itself.
  Column<uint8_t> loops_;    // 1 if the node is in its own list.
  Column<int64_t> allowed_;  // Number of neighbours that may be drawn.
  Column<int64_t> ranks_;    // Rank of the drawn neighbour.
  Column<Draws> draws_;      // Random numbers of the undecided pairs.
  Column<size_t> waiting_;   // Indices of the undecided pairs.
  Column<int64_t> drawn_;    // Nodes of the undecided pairs.
  Column<int64_t> found_;    // Neighbours drawn for these nodes.
  Column<int64_t> numbers_;
};

}  // namespace plimsoll
