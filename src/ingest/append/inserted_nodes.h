#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "memory/vector.h"

namespace plimsoll {

/// The places of new nodes among those of an older graph. Nodes are in the order of their IDs, so a new node
/// may come before old ones; old nodes keep their order. Needs up to 12 bytes, while the list grows, for
/// each new node that is before the last old one, and 1 byte for 64 old nodes (Tag::ingest). Thread-safe
/// after the last add().
class InsertedNodes {
 public:
  /// `old_nodes` is the number of nodes of the older graph.
  explicit InsertedNodes(int64_t old_nodes) : old_nodes_(old_nodes) {}

  /// Adds the next new node, which comes before the old node `before`; it is `old_nodes` for a node after all
  /// others. `before` must not decrease.
  void add(int64_t before) {
    if (before < old_nodes_)
      before_.push_back(static_cast<uint32_t>(before));
    else
      ++last_;
  }
  /// Adds nodes after all others.
  void add_last(int64_t count) { last_ += count; }
  /// Must be called after all new nodes have been added, and before the functions below.
  void seal();

  int64_t old_nodes() const { return old_nodes_; }
  int64_t count() const { return static_cast<int64_t>(before_.size()) + last_; }
  int64_t nodes() const { return old_nodes_ + count(); }
  /// Whether old nodes keep their numbers.
  bool keeps_numbers() const { return before_.empty(); }
  /// Returns the number that an old node has now.
  int64_t new_of_old(int64_t node) const { return keeps_numbers() ? node : node + inserted_before(node); }
  /// Returns the number that the i-th new node has now.
  int64_t new_of_inserted(int64_t i) const {
    return i < std::ssize(before_) ? before_[static_cast<size_t>(i)] + i : old_nodes_ + i;
  }

  /// Calls take(is_new, first, count) for each run of nodes of one kind, in the order of the nodes now.
  /// `first` counts old nodes, or new nodes from 0. A run has at most `max` nodes.
  template <typename Take>
  void for_each_run(int64_t max, const Take& take) const {
    const auto runs = [&](bool is_new, int64_t first, int64_t end) {
      for (; first < end; first += max) take(is_new, first, std::min(max, end - first));
    };
    int64_t old = 0;
    int64_t inserted = 0;
    while (inserted < std::ssize(before_)) {
      const int64_t place = before_[static_cast<size_t>(inserted)];
      runs(false, old, place);
      old = place;
      const int64_t first = inserted;
      while (inserted < std::ssize(before_) && before_[static_cast<size_t>(inserted)] == place) ++inserted;
      runs(true, first, inserted);
    }
    runs(false, old, old_nodes_);
    runs(true, inserted, count());
  }

 private:
  static constexpr int64_t kBlock = 256;  // Old nodes per entry of blocks_.

  // Number of new nodes before an old node.
  int64_t inserted_before(int64_t node) const {
    const auto block = static_cast<size_t>(node / kBlock);
    const auto* const begin = before_.data() + blocks_[block];
    const auto* const end = before_.data() + blocks_[block + 1];
    return std::upper_bound(begin, end, static_cast<uint32_t>(node)) - before_.data();
  }

  int64_t old_nodes_;
  int64_t last_ = 0;
  Vector<uint32_t, Tag::ingest> before_;  // The old node after each new one.
  // Number of new nodes before the first old node of each block, and of all blocks.
  Vector<uint32_t, Tag::ingest> blocks_;
};

}  // namespace plimsoll
