#pragma once

#include <memory>
#include <string_view>

#include "ingest/append/base_graph.h"
#include "ingest/append/inserted_nodes.h"
#include "ingest/graph/graph_scratch.h"
#include "ingest/graph/node_index.h"
#include "ingest/text/unique_texts.h"

namespace plimsoll {

/// The IDs of a graph whose IDs are not 0 .. V-1, and new ones: numbers, or texts and their hashes. Sorts
/// them on disk. Not thread-safe. Errors: InputError (damaged names of nodes), Failure (disk),
/// BudgetExceeded, those of scratch.tick().
class AppendedIds {
 public:
  /// Reads the IDs of the base. `base` and `scratch` must outlive this object. Texts are hashed with `seed`.
  /// Errors: InputError (a damaged column), and those of scratch.tick().
  AppendedIds(const BaseGraph& base, const GraphScratch& scratch, uint64_t seed);

  /// Adds an ID that is a node: the number, or its text.
  void add(uint64_t id, std::string_view text);
  /// Adds both ends of edges.
  void add_ends(const EdgeBatch& edges) { gather_ends(edges, numbers_.get(), texts_.get()); }
  /// Numbers all IDs in their order, and writes the column of IDs or the columns of names, or shares them
  /// with the base if there are no new IDs. Must be called once, after all IDs have been added. Throws
  /// HashCollision.
  void number(InsertedNodes& nodes, GraphWriter& writer);

  /// Maps all IDs, or their hashes, to nodes. Valid after number().
  const NodeIndex& index() const { return *index_; }
  /// Maps new IDs, or their hashes, to new nodes, counted from 0. Valid after number().
  const NodeIndex& new_nodes() const { return *new_nodes_; }

 private:
  void number_numbers(InsertedNodes& nodes, GraphWriter& writer);
  void number_texts(InsertedNodes& nodes, GraphWriter& writer);

  const BaseGraph& base_;
  const GraphScratch& scratch_;
  uint64_t seed_;
  std::shared_ptr<ExternalSort> numbers_;  // All IDs; null for texts.
  std::unique_ptr<UniqueTexts> texts_;     // All IDs; null for numbers.
  std::shared_ptr<ExternalSort> new_;      // New IDs or hashes. Payload: new node, u32.
  std::unique_ptr<NodeIndex> index_, new_nodes_;
};

}  // namespace plimsoll
