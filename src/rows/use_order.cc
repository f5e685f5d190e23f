#include "rows/use_order.h"

namespace plimsoll {

void UseOrder::remove(int32_t slot) {
  Node& node = nodes_[static_cast<size_t>(slot)];
  if (node.level == kNone) return;
  List& list = levels_[static_cast<size_t>(node.level)];
  (node.before == kNone ? list.first : nodes_[static_cast<size_t>(node.before)].after) = node.after;
  (node.after == kNone ? list.last : nodes_[static_cast<size_t>(node.after)].before) = node.before;
  node.level = kNone;
}

void UseOrder::place(int32_t slot, int32_t level) {
  remove(slot);
  List& list = levels_[static_cast<size_t>(level)];
  nodes_[static_cast<size_t>(slot)] = {list.last, kNone, level};
  (list.last == kNone ? list.first : nodes_[static_cast<size_t>(list.last)].after) = slot;
  list.last = slot;
}

int32_t UseOrder::first_to_go() const {
  return std::ranges::find_if(levels_, [](const List& list) { return list.first != kNone; })->first;
}

}  // namespace plimsoll
