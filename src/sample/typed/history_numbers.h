#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sample/typed/known_edges.h"
#include "sample/typed/typed_topology.h"

namespace plimsoll {

/// Numbers that describe all edges into a node that are known at the end of a history, not only the sampled
/// ones. For each edge type:
///
/// - log(1 + n), where n is the number of edges in the last d days of the history (later than end - d days),
///   for each span d; then the same for all known edges;
/// - log(1 + days) from the latest known edge to the end, and from the first one; 0 without edges.
///
/// Edge types are those whose edges have times that alone decide which edges are known. Every number is found
/// by binary search in lists sorted by time, so none depends on a later edge. The topology must outlive this
/// object. Thread-safe.
class HistoryNumbers {
 public:
  /// Uses the edge types into node type `target` among `edge_types`. `days` are the lengths of the spans,
  /// each at least 1; without spans there are no numbers.
  HistoryNumbers(const TypedTopology& topology, size_t target, const std::vector<size_t>& edge_types,
                 std::vector<int64_t> days);

  /// Numbers per node.
  int64_t numbers() const;

  /// Writes the numbers, [numbers()], of a node for a history that ends at `end`, in nanoseconds since
  /// 1970-01-01. Errors: UsageError for a node that does not exist; InputError for damaged lists.
  void write(int64_t node, int64_t end, float* numbers) const;

 private:
  float* write_type(size_t edge_type, int64_t node, int64_t end, float* numbers) const;
  int64_t time_of(size_t edge_type, int64_t edge) const;

  const TypedTopology& topology_;
  const KnownEdges known_;
  std::vector<int64_t> days_;
  std::vector<size_t> edge_types_;
};

}  // namespace plimsoll
