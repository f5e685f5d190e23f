#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "memory/vector.h"

namespace plimsoll {

/// Numbers the nodes of a batch from 0 in the order in which they are added. In a disjoint batch a node has
/// one number per tree that contains it. Open addressing with linear probing over 32-bit numbers, at most
/// half full; its memory is kept for the next batch. Not thread-safe.
class NodeIdMap {
 public:
  using Column = Vector<int64_t, Tag::blocks>;
  static constexpr int64_t kNone = -1;

  /// Starts with the nodes in `node` and their trees in `tree`; new nodes are appended to both. A node that
  /// occurs twice has the first of its numbers. The columns must outlive the use of this table.
  void begin(Column& node, Column& tree, bool disjoint);

  /// Returns the number of a node; kNone if it has none.
  int64_t find(int64_t node, int64_t tree) const {
    const uint32_t number = slots_[slot_of(node, tree)];
    return number == kEmpty ? kNone : number;
  }
  /// Returns the number of a node, which it adds if it has none. Errors: InputError beyond 2^32 - 1 nodes,
  /// BudgetExceeded.
  int64_t find_or_add(int64_t node, int64_t tree) {
    const size_t slot = slot_of(node, tree);
    return slots_[slot] == kEmpty ? add(slot, node, tree) : slots_[slot];
  }
  /// Prefetches the slot at which a search starts.
  void fetch(int64_t node, int64_t tree) const { __builtin_prefetch(slots_.data() + begin_of(node, tree)); }

 private:
  static constexpr uint32_t kEmpty = std::numeric_limits<uint32_t>::max();

  size_t begin_of(int64_t node, int64_t tree) const {
    const uint64_t key = static_cast<uint64_t>(node) + (disjoint_ ? static_cast<uint64_t>(tree) << 40 : 0);
    return (key ^ key >> 32) * 0x9E3779B97F4A7C15 >> shift_;
  }
  // Returns the slot of a node, or the empty slot where it would be inserted.
  size_t slot_of(int64_t node, int64_t tree) const {
    size_t slot = begin_of(node, tree);
    for (uint32_t number = slots_[slot]; number != kEmpty; number = slots_[slot]) {
      if ((*node_)[number] == node && (!disjoint_ || (*tree_)[number] == tree)) break;
      slot = (slot + 1) & (slots_.size() - 1);
    }
    return slot;
  }
  int64_t add(size_t slot, int64_t node, int64_t tree);
  void lay_out(size_t slots);

  Vector<uint32_t, Tag::blocks> slots_;  // The number of slots is a power of two.
  int shift_ = 0;
  Column* node_ = nullptr;
  Column* tree_ = nullptr;
  bool disjoint_ = false;
};

}  // namespace plimsoll
