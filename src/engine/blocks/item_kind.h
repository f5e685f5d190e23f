#pragma once

#include <cstdint>
#include <functional>

#include "memory/tape_model.h"
#include "nn/batch.h"
#include "sample/block/block.h"

namespace plimsoll {

/// What engine and planner ask about the things that have a loss of their own: one class for each of `Items`
/// (nn/batch.h). Immutable and thread-safe.
class ItemKind {
 public:
  virtual ~ItemKind() = default;

  /// Items of one graph.
  virtual int64_t count(const GraphShape& shape) const = 0;
  /// Items of a block with these terms (engine/blocks/block_terms.h).
  virtual int64_t count(const Terms& terms) const = 0;

  /// Whether they are a term of their own, kItems, beside graphs and nodes.
  virtual bool has_term() const { return false; }
  /// Where they are: the most that a block with at most these terms may have.
  virtual int64_t max(const Terms& /*highest*/) const { return 0; }
  /// Rows of GraphBlock::pairs in a block with these terms.
  virtual int64_t pairs(const Terms& /*terms*/) const { return 0; }

  /// Fills in what a batch has for its items: item_count, items, pairs and y. Errors: InputError where the
  /// data has no such items.
  virtual void collate(const GraphBlock& block, Batch& batch) const = 0;
  /// The same tensors in the same order, without data, for a block with these terms.
  virtual void collate_without_data(const Terms& terms, Batch& batch) const = 0;

  /// Gives one graph of a made-up block items among its nodes first .. first+nodes-1, and counts them in its
  /// shape. `draw(n)` is a random number below n.
  using Draw = std::function<int64_t(int64_t below)>;
  virtual void add_to_probe(GraphBlock& /*block*/, GraphShape& /*shape*/, int64_t /*first*/,
                            int64_t /*nodes*/, const Draw& /*draw*/) const {}

  /// The graph of the block that an item belongs to.
  virtual int64_t graph_of(int64_t item, const GraphBlock& block, const Batch& batch) const = 0;
};

const ItemKind& item_kind(Items items);

}  // namespace plimsoll
