#include "can/windows/transitions.h"

namespace plimsoll {
namespace {

size_t slot(int32_t index) {
  return static_cast<size_t>(index);
}

// Turns the count of each node into the index of the node's first entry.
void make_places(Vector<int32_t, Tag::blocks>& counts) {
  int32_t place = 0;
  for (int32_t& count : counts) {
    const int32_t begin = place;
    place += count;
    count = begin;
  }
}

}  // namespace

// Two stable counting sorts, by target and then by source: comparing rows would use half the time of making a
// graph.
void Transitions::group(size_t nodes) {
  by_target_.resize(rows.size());
  grouped_.resize(rows.size());
  next_.assign(nodes + 1, 0);
  for (const Row& row : rows) ++next_[slot(row.target)];
  make_places(next_);
  for (size_t p = 0; p < rows.size(); ++p)
    by_target_[slot(next_[slot(rows[p].target)]++)] = static_cast<int32_t>(p);
  next_.assign(nodes + 1, 0);
  for (const Row& row : rows) ++next_[slot(row.source)];
  make_places(next_);
  for (const int32_t p : by_target_) grouped_[slot(next_[slot(rows[slot(p)].source)]++)] = p;

  edges_.clear();
  Row last{-1, -1};
  for (size_t i = 0; i < grouped_.size(); ++i) {
    const Row row = rows[slot(grouped_[i])];
    if (row.source != last.source || row.target != last.target)
      edges_.push_back({row.source, row.target, static_cast<int32_t>(i), 0, false});
    ++edges_.back().count;
    last = row;
  }
  find_reverses();
}

// Edges ascend by source, so the position up to which a target's own edges have been passed only increases.
void Transitions::find_reverses() {
  std::fill(next_.begin(), next_.end(), 0);
  for (const Edge& edge : edges_) ++next_[slot(edge.source)];
  make_places(next_);
  const auto count = static_cast<int32_t>(edges_.size());
  for (Edge& edge : edges_) {
    int32_t& back = next_[slot(edge.target)];
    while (back < count && edges_[slot(back)].source == edge.target &&
           edges_[slot(back)].target < edge.source)
      ++back;
    edge.has_reverse =
        back < count && edges_[slot(back)].source == edge.target && edges_[slot(back)].target == edge.source;
  }
}

}  // namespace plimsoll
