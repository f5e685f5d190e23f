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
  bool avoid_existing = true;  ///< by looking them up in the lists, which have to ascend
  bool self_loops = false;     ///< whether a node may be drawn for itself
};

/// Pairs of nodes that are no edges, for link prediction: of each the node whose list would have it, and the
/// neighbour that is not there. Each allowed pair is exactly as likely. A neighbour is drawn by its rank
/// among those that are missing from the list, so that no draw is for nothing, however long the list is. A
/// pair that is still not found after 1,000 draws is drawn from a list of all allowed pairs.
///
/// What is drawn is a function of (seed, epoch, number of the pair or the edge); nothing else has an
/// influence. Not thread-safe: it keeps scratch memory. The topology has to outlive it.
class NegativeEdges {
 public:
  /// Whether a pair may not be drawn for a reason of the caller's: another one is drawn in its place.
  using Excluded = std::function<bool(int64_t node, int64_t neighbour)>;

  /// To look edges up, lists have to ascend: require_ascending_lists(). Errors: UsageError for a graph of
  /// V (V - 1) edges or more, where none may be left.
  NegativeEdges(const Topology& topology, const NegativeOptions& options, uint64_t seed,
                Excluded excluded = {});

  /// Uniform: the pairs number first, first + 1, ... of an epoch, as many as `nodes` and `neighbours` have
  /// room for. A pair may come again. Errors: UsageError where all pairs are edges or excluded; Interrupted;
  /// those of the topology.
  void uniform(int64_t first, uint32_t epoch, std::span<int64_t> nodes, std::span<int64_t> neighbours);
  /// The pairs with these numbers.
  void uniform(std::span<const int64_t> numbers, uint32_t epoch, std::span<int64_t> nodes,
               std::span<int64_t> neighbours);

  /// Structured, as PyTorch Geometric's structured_negative_sampling: for each of `nodes` a neighbour that it
  /// does not have. edges[i] is the number that keys what is drawn for nodes[i], for example that of the
  /// positive edge. Errors: UsageError for a node that has no negative edge; those of the topology.
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
  Column<EdgeRange> lists_;  // of the nodes asked for
  Column<int64_t> places_;   // how many neighbours are below the node itself
  Column<uint8_t> loops_;    // whether the node is in its own list
  Column<int64_t> allowed_;  // how many neighbours may be drawn for it
  Column<int64_t> ranks_;    // which of them is
  Column<Draws> draws_;      // of the pairs that are not decided yet
  Column<size_t> waiting_;   // which these are
  Column<int64_t> drawn_;    // nodes of such pairs
  Column<int64_t> found_;    // and what was drawn for them
  Column<int64_t> numbers_;
};

}  // namespace plimsoll
