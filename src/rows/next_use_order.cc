#include "rows/next_use_order.h"

namespace plimsoll {

NextUseOrder::NextUseOrder(int64_t slots)
    : nodes_(static_cast<size_t>(slots), Node{kNone, kNone, kNowhere}) {}

NextUseOrder::List& NextUseOrder::list_of(int32_t batch) {
  if (is_never(batch)) return never_[static_cast<size_t>(kNever - batch)];
  const auto index = static_cast<size_t>(batch - first_batch_);
  if (index >= lists_.size()) lists_.resize(index + 1);
  return lists_[index];
}

void NextUseOrder::remove(int32_t slot) {
  const Node node = nodes_[static_cast<size_t>(slot)];
  if (node.batch == kNowhere) return;
  List& list = list_of(node.batch);
  (node.before == kNone ? list.first : nodes_[static_cast<size_t>(node.before)].after) = node.after;
  (node.after == kNone ? list.last : nodes_[static_cast<size_t>(node.after)].before) = node.before;
  --list.count;
  nodes_[static_cast<size_t>(slot)].batch = kNowhere;
}

void NextUseOrder::place(int32_t slot, int32_t batch) {
  remove(slot);
  List& list = list_of(batch);
  nodes_[static_cast<size_t>(slot)] = {list.last, kNone, batch};
  (list.last == kNone ? list.first : nodes_[static_cast<size_t>(list.last)].after) = slot;
  list.last = slot;
  ++list.count;
}

int32_t NextUseOrder::first_to_go() {
  for (const List& list : never_)
    if (list.first != kNone) return list.first;
  while (lists_.back().first == kNone) lists_.pop_back();
  return lists_.back().first;
}

int64_t NextUseOrder::count(int32_t batch) const {
  if (is_never(batch)) return never_[static_cast<size_t>(kNever - batch)].count;
  const auto index = static_cast<size_t>(batch - first_batch_);
  return index < lists_.size() ? lists_[index].count : 0;
}

void NextUseOrder::forget_before(int32_t batch) {
  for (; first_batch_ < batch; ++first_batch_) {
    while (!lists_.empty() && lists_.front().first != kNone) place(lists_.front().first, kNever);
    if (!lists_.empty()) lists_.pop_front();
  }
}

}  // namespace plimsoll
