#pragma once

#include <cstdint>
#include <span>

#include "memory/vector.h"
#include "sample/topology/topology.h"

namespace plimsoll {

/// Searches many neighbour lists at once, with one comparison in each list per round, so that there are O(log
/// degree) batches of reads. Lists must ascend without duplicates, which require_ascending_lists() checks.
/// Not thread-safe: it keeps scratch memory. The topology must outlive it.
class ListSearch {
 public:
  explicit ListSearch(const Topology& topology) : topology_(topology) {}

  /// Writes to places[i] how many neighbours in lists[i] are below nodes[i], and to found[i] 1 if nodes[i] is
  /// in the list, otherwise 0. This also works for lists with duplicates. Errors: those of the topology;
  /// BudgetExceeded.
  void find(std::span<const EdgeRange> lists, std::span<const int64_t> nodes, std::span<int64_t> places,
            std::span<uint8_t> found);

  /// Writes to nodes[i] the node of rank ranks[i], counted from 0, among the nodes that are not in lists[i];
  /// at least nodes() if there are too few of them. Errors: the same.
  void find_missing(std::span<const EdgeRange> lists, std::span<const int64_t> ranks,
                    std::span<int64_t> nodes);

 private:
  struct OpenSearch {
    size_t list;
    int64_t low;
    int64_t high;
    int64_t middle() const { return low + (high - low) / 2; }
  };
  template <typename IsBelow>
  void search(std::span<const EdgeRange> lists, std::span<int64_t> places, const IsBelow& is_below);

  const Topology& topology_;
  Vector<OpenSearch, Tag::blocks> open_;  // Lists in which the index has not been found yet.
  Vector<int64_t, Tag::blocks> edges_;
  Vector<int64_t, Tag::blocks> neighbours_;
};

/// Checks that all lists ascend without duplicates; reads them once. Errors: InputError that names the first
/// list that does not; those of the topology.
void require_ascending_lists(const Topology& topology);

}  // namespace plimsoll
