#pragma once

#include <cstdint>
#include <memory>

#include "ingest/graph/graph_scratch.h"
#include "ingest/graph/node_index.h"
#include "store/graph.h"

namespace plimsoll {

/// Numbers nodes again, in the order of a key that each has; of equal keys in the order they had. Sorted on
/// disk where memory does not reach. Not thread-safe. Errors of all: Failure (disk), BudgetExceeded.
class NodeOrder {
 public:
  NodeOrder(const GraphScratch& scratch, int64_t nodes);

  /// A node, of 0 .. nodes-1, each once; its ID in the index of before; and its key.
  void add(uint32_t node, uint64_t id, uint32_t key);
  /// All have been added. Writes the column node_id: the IDs or, of `texts`, their places in the table of
  /// names, which are the old numbers.
  void write_ids(bool texts, GraphWriter& writer);

  /// The new number of each ID, once written.
  std::unique_ptr<NodeIndex> by_id() const { return std::make_unique<NodeIndex>(new_of_id_, true, nodes_); }
  /// The new number of each old one, once written.
  NodeIndex by_node() const { return NodeIndex(new_of_node_, true, nodes_); }

 private:
  std::unique_ptr<ExternalSort> sort(const char* name, size_t payload) const {
    return scratch_.sort(name, GraphScratch::kNodes, payload, nodes_);
  }
  const GraphScratch& scratch_;
  int64_t nodes_;
  std::unique_ptr<ExternalSort> by_key_;                   // key and node
  std::unique_ptr<ExternalSort> id_of_node_;               // u64
  std::shared_ptr<ExternalSort> new_of_node_, new_of_id_;  // u32
};

}  // namespace plimsoll
