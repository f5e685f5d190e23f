#include "sample/seeds/allowed_pairs.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "sample/topology/list_stream.h"

namespace plimsoll {
namespace {

constexpr int64_t kPartOfList = 4096;  // Edges that are read together.

// Calls use(neighbour) for the nodes next .. end-1. Returns the node after `end`.
template <typename Use>
int64_t use_up_to(int64_t next, int64_t end, const Use& use) {
  for (; next < end; ++next) use(next);
  return std::max(next, end + 1);
}

}  // namespace

AllowedPairs::AllowedPairs(const Topology& topology, bool avoid_existing, IsAllowed is_allowed)
    : topology_(topology), avoid_existing_(avoid_existing), is_allowed_(std::move(is_allowed)) {}

int64_t AllowedPairs::total() {
  if (!ends_.empty()) return ends_.back();
  Vector<int64_t, Tag::blocks> ends(static_cast<size_t>(topology_.nodes()));
  int64_t node = 0;
  int64_t next = 0;   // The first node that the list of `node` may lack.
  int64_t total = 0;  // Allowed pairs so far.
  const auto count = [&](int64_t neighbour) { total += is_allowed_(node, neighbour); };
  stream_lists(
      topology_,
      [&](int64_t, std::span<const int64_t> list) {
        if (!avoid_existing_) return;
        for (const int64_t neighbour : list) next = use_up_to(next, neighbour, count);
      },
      [&](int64_t) {
        if (interrupt_requested) throw Interrupted("interrupted while pairs without an edge were counted");
        use_up_to(next, topology_.nodes(), count);
        ends[static_cast<size_t>(node++)] = total;
        next = 0;
      });
  ends_ = std::move(ends);
  return ends_.back();
}

AllowedPairs::Pair AllowedPairs::at(int64_t rank) const {
  const auto node = std::ranges::upper_bound(ends_, rank) - ends_.begin();
  return {node, node == 0 ? rank : rank - ends_[static_cast<size_t>(node - 1)]};
}

std::span<const int64_t> AllowedPairs::neighbours(int64_t node) {
  if (node == listed_) return neighbours_;
  listed_ = -1;
  neighbours_.clear();
  const auto keep = [&](int64_t neighbour) {
    if (is_allowed_(node, neighbour)) neighbours_.push_back(neighbour);
  };
  EdgeRange list;
  if (avoid_existing_) topology_.read_lists({&node, 1}, {&list, 1});
  int64_t next = 0;
  for (int64_t first = 0; first < list.degree; first += kPartOfList) {
    const auto count = static_cast<size_t>(std::min(kPartOfList, list.degree - first));
    edges_.resize(count);
    part_.resize(count);
    std::iota(edges_.begin(), edges_.end(), list.first + first);
    topology_.read_neighbours(edges_, part_);
    for (const int64_t neighbour : part_) next = use_up_to(next, neighbour, keep);
  }
  use_up_to(next, topology_.nodes(), keep);
  listed_ = node;
  return neighbours_;
}

}  // namespace plimsoll
