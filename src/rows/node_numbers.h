#pragma once

#include <cstdint>
#include <memory>

#include "memory/charge.h"
#include "rows/feature_file.h"
#include "store/graph.h"

namespace plimsoll {

/// A file in memory whose row i is an f32 with the bits of the u32 i. It is used as the feature of nodes that
/// have no features; a model uses it to look up the embedding of each node (nn/node_ids.h), and nothing
/// computes with it. Needs 4 bytes per node, counted under Tag::columns. Immutable, so any number of threads
/// may read it.
class NodeNumbers {
 public:
  /// The highest number of nodes of a graph, whose nodes are u32.
  static constexpr int64_t kMaxNodes = (int64_t{1} << 32) - 1;

  /// Errors: InputError for more than kMaxNodes nodes; BudgetExceeded; Failure.
  explicit NodeNumbers(int64_t nodes);
  ~NodeNumbers();
  NodeNumbers(const NodeNumbers&) = delete;
  NodeNumbers& operator=(const NodeNumbers&) = delete;

  /// Returns the file, which exists as long as this object and can be opened only in this process.
  FeatureFile file() const;

 private:
  const int64_t nodes_;
  Charge charge_{Tag::columns};
  int descriptor_ = -1;
};

/// Returns the NodeNumbers of a graph whose nodes have no features; null for any other graph. Errors: those
/// of NodeNumbers.
std::unique_ptr<const NodeNumbers> numbers_for(const GraphView& graph);

}  // namespace plimsoll
