#pragma once

#include <cstdint>
#include <functional>

#include "memory/tape_model.h"
#include "nn/batch.h"
#include "sample/block/block.h"

namespace plimsoll {

/// The facts that the engine and the planner need about the items over which a loss is computed. There is one
/// class per value of `Items` (nn/batch.h). Immutable and thread-safe.
class ItemKind {
 public:
  virtual ~ItemKind() = default;

  /// Number of items of one graph.
  virtual int64_t count(const GraphShape& shape) const = 0;
  /// Number of items of a block with these terms (engine/blocks/block_terms.h).
  virtual int64_t count(const Terms& terms) const = 0;

  /// Whether items have a separate term, kItems, in addition to graphs and nodes.
  virtual bool has_term() const { return false; }
  /// If has_term(): the maximum number of items of a block with at most these terms; INT64_MAX if the terms
  /// give no bound.
  virtual int64_t max(const Terms& /*highest*/) const { return 0; }
  /// Number of rows of GraphBlock::pairs in a block with these terms.
  virtual int64_t pairs(const Terms& /*terms*/) const { return 0; }

  /// Sets the fields of a batch that describe its items: item_count, items, pairs and y. Errors: InputError
  /// if the data has no such items.
  virtual void collate(const GraphBlock& block, Batch& batch) const = 0;
  /// Makes the same tensors in the same order, without data, for a block with these terms.
  virtual void collate_without_data(const Terms& terms, Batch& batch) const = 0;

  /// Adds items to one graph of a synthetic block, among its nodes first .. first+nodes-1, and counts them in
  /// its shape. `draw(n)` is a random number below n.
  using Draw = std::function<int64_t(int64_t below)>;
  virtual void add_to_probe(GraphBlock& /*block*/, GraphShape& /*shape*/, int64_t /*first*/,
                            int64_t /*nodes*/, const Draw& /*draw*/) const {}

  /// Returns the index within the block of the graph that contains an item.
  virtual int64_t graph_of(int64_t item, const GraphBlock& block, const Batch& batch) const = 0;
};

/// Returns the object for a kind of item. It lives as long as the program.
const ItemKind& item_kind(Items items);

}  // namespace plimsoll
