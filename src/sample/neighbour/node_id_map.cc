#include "sample/neighbour/node_id_map.h"

#include <algorithm>

#include "base/error.h"

namespace plimsoll {
namespace {

constexpr size_t kFewest = 1024;

}  // namespace

void NodeIdMap::begin(Column& node, Column& tree, bool disjoint) {
  node_ = &node;
  tree_ = &tree;
  disjoint_ = disjoint;
  lay_out(std::max({slots_.size(), kFewest, std::bit_ceil(2 * node.size())}));
}

void NodeIdMap::lay_out(size_t slots) {
  slots_.assign(slots, kEmpty);
  shift_ = 64 - std::countr_zero(slots);
  for (size_t number = 0; number < node_->size(); ++number) {
    uint32_t& slot = slots_[slot_of((*node_)[number], (*tree_)[number])];
    if (slot == kEmpty) slot = static_cast<uint32_t>(number);
  }
}

int64_t NodeIdMap::add(size_t slot, int64_t node, int64_t tree) {
  const size_t number = node_->size();
  if (number == kEmpty)
    throw InputError("found a batch of 2^32 - 1 nodes or more, expected fewer; sample fewer seeds at a time");
  node_->push_back(node);
  tree_->push_back(tree);
  slots_[slot] = static_cast<uint32_t>(number);
  if (2 * node_->size() > slots_.size()) lay_out(2 * slots_.size());
  return static_cast<int64_t>(number);
}

}  // namespace plimsoll
