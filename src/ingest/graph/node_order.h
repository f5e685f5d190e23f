#pragma once

#include <cstdint>
#include <memory>

#include "ingest/graph/graph_scratch.h"
#include "ingest/graph/node_index.h"
#include "store/graph.h"

namespace plimsoll {

/// Renumbers nodes in the order of a key. Nodes with equal keys keep their order. Sorts on disk if the memory
/// is too small. Not thread-safe. Errors of all functions: Failure (disk), BudgetExceeded.
class NodeOrder {
 public:
  /// `scratch` must outlive this object.
  NodeOrder(const GraphScratch& scratch, int64_t nodes);

  /// Adds a node, 0 .. nodes-1, its ID in the previous index, and its key. Each node must be added once.
  void add(uint32_t node, uint64_t id, uint32_t key);
  /// Must be called after all nodes have been added. Writes the column node_id: the IDs or, if `texts`, their
  /// indices in the table of names, which are the old indices of nodes.
  void write_ids(bool texts, GraphWriter& writer);

  /// Returns a map from IDs to new indices of nodes; valid after write_ids().
  std::unique_ptr<NodeIndex> by_id() const { return std::make_unique<NodeIndex>(new_of_id_, true, nodes_); }
  /// Returns a map from old indices of nodes to new ones; valid after write_ids().
  NodeIndex by_node() const { return NodeIndex(new_of_node_, true, nodes_); }

 private:
  std::unique_ptr<ExternalSort> sort(const char* name, size_t payload) const {
    return scratch_.sort(name, GraphScratch::kNodes, payload, nodes_);
  }
  const GraphScratch& scratch_;
  int64_t nodes_;
  std::unique_ptr<ExternalSort> by_key_;                   // Key, then node.
  std::unique_ptr<ExternalSort> id_of_node_;               // Payload: ID, u64.
  std::shared_ptr<ExternalSort> new_of_node_, new_of_id_;  // Payload: new index, u32.
};

}  // namespace plimsoll
