#pragma once

#include <cstdint>
#include <memory>

#include "memory/charge.h"
#include "rows/feature_file.h"
#include "store/graph.h"

namespace plimsoll {

/// A file in memory whose row i is the number i, as f32: the feature of nodes that have none, by which a
/// model looks up what it learns about each node (nn/gnn.h). Immutable, so any number of threads may read it.
class NodeNumbers {
 public:
  static constexpr int64_t kMaxNodes = int64_t{1} << 24;  ///< f32 holds whole numbers up to this one.

  /// Errors: InputError for more than kMaxNodes nodes; BudgetExceeded; Failure.
  explicit NodeNumbers(int64_t nodes);
  ~NodeNumbers();
  NodeNumbers(const NodeNumbers&) = delete;
  NodeNumbers& operator=(const NodeNumbers&) = delete;

  /// The file, which exists as long as this object.
  FeatureFile file() const;

 private:
  const int64_t nodes_;
  Charge charge_{Tag::columns};
  int descriptor_ = -1;
};

/// Returns the numbers of a graph's nodes if they have no features, else null. Errors: those of NodeNumbers.
std::unique_ptr<const NodeNumbers> numbers_for(const GraphView& graph);

}  // namespace plimsoll
