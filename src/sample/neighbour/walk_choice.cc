#include "sample/neighbour/walk_choice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>

#include "base/error.h"
#include "base/interrupt.h"
#include "sample/topology/list_search.h"

namespace plimsoll {
namespace {

// Neighbours that are read together.
constexpr int64_t kNeighbours = 64;

struct Step {
  const Topology& topology;
  int64_t before;
  EdgeRange list;  // List of the current node.
  EdgeRange near;  // List of the previous node.
};

// Calls use(neighbours, index of the first) for parts of a list until use() returns false.
template <typename Use>
void read_list(const Topology& topology, const EdgeRange& list, const Use& use) {
  std::array<int64_t, kNeighbours> edges;
  std::array<int64_t, kNeighbours> nodes;
  for (int64_t first = 0; first < list.degree; first += kNeighbours) {
    if (interrupt_requested) throw Interrupted("interrupted while random walks were made");
    const auto count = static_cast<size_t>(std::min(list.degree - first, kNeighbours));
    std::iota(edges.begin(), edges.end(), list.first + first);
    topology.read_neighbours({edges.data(), count}, {nodes.data(), count});
    if (!use(std::span<const int64_t>(nodes).first(count), first)) return;
  }
}

// Searches by reading the list of the current node.
template <typename Use>
void in_list(const Step& step, const Use& use) {
  std::array<EdgeRange, kNeighbours> lists;
  std::array<uint8_t, kNeighbours> found;
  lists.fill(step.near);
  read_list(step.topology, step.list, [&](std::span<const int64_t> nodes, int64_t first) {
    step.topology.find(std::span(lists).first(nodes.size()), nodes, found);
    for (size_t i = 0; i < nodes.size(); ++i) {
      const bool is_back = nodes[i] == step.before;
      if ((is_back || found[i] != 0) && !use(first + static_cast<int64_t>(i), is_back)) return false;
    }
    return true;
  });
}

// Searches by reading the list of the previous node, and that node itself.
template <typename Use>
void in_near(const Step& step, const Use& use) {
  std::array<EdgeRange, kNeighbours> lists;
  std::array<int64_t, kNeighbours> places;
  std::array<uint8_t, kNeighbours> found;
  lists.fill(step.list);
  ListSearch search(step.topology);
  search.find(std::span(lists).first(1), {&step.before, 1}, places, std::span(found).first(1));
  const int64_t back = places[0];
  bool is_due = found[0] != 0;
  bool goes_on = true;
  const auto use_back = [&] {
    is_due = false;
    return goes_on = use(back, true);
  };
  read_list(step.topology, step.near, [&](std::span<const int64_t> nodes, int64_t) {
    search.find(std::span(lists).first(nodes.size()), nodes, places, std::span(found).first(nodes.size()));
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (found[i] == 0 || nodes[i] == step.before) continue;
      if (is_due && back < places[i] && !use_back()) return false;
      if (!(goes_on = use(places[i], false))) return false;
    }
    return true;
  });
  if (is_due && goes_on) use_back();
}

// Calls use(place, whether it is back) for the neighbours that are back or near, in list order, until use()
// returns false.
template <typename Use>
void for_each_known(const Step& step, const Use& use) {
  if (step.list.degree <= step.near.degree)
    in_list(step, use);
  else
    in_near(step, use);
}

int64_t choose_place(const Step& step, const WalkChances& chances, double uniform) {
  int64_t back = 0;
  int64_t near = 0;
  std::array<int64_t, kNeighbours> places;  // Only the first entry is used.
  int64_t place_of_back = -1;
  for_each_known(step, [&](int64_t place, bool is_back) {
    if (back + near < kNeighbours) places[static_cast<size_t>(back + near)] = place;
    if (is_back) place_of_back = place;
    ++(is_back ? back : near);
    return true;
  });
  const auto for_each_again = [&](const auto& use) {
    if (back + near > kNeighbours) return for_each_known(step, use);
    for (const int64_t place : std::span(places).first(static_cast<size_t>(back + near)))
      if (!use(place, place == place_of_back)) return;
  };
  const auto weight = [](int64_t count, double chance) { return static_cast<double>(count) * chance; };
  double left = uniform * (weight(back, chances.back) + weight(near, chances.near) +
                           weight(step.list.degree - back - near, chances.far));
  int64_t begin = 0;  // First of the far neighbours that come next.
  int64_t chosen = -1;
  const auto among_far = [&](int64_t end) {
    const auto place = begin + static_cast<int64_t>(std::ceil(left / chances.far)) - 1;
    return std::clamp(place, begin, end - 1);
  };
  for_each_again([&](int64_t place, bool is_back) {
    const double far = weight(place - begin, chances.far);
    if (left <= far && begin < place) {
      chosen = among_far(place);
      return false;
    }
    left -= far + (is_back ? chances.back : chances.near);
    begin = place + 1;
    if (left <= 0 || begin == step.list.degree) chosen = place;
    return chosen < 0;
  });
  return chosen < 0 ? among_far(step.list.degree) : chosen;
}

}  // namespace

int64_t choose_step(const Topology& topology, const WalkChances& chances, int64_t at, int64_t before,
                    double uniform) {
  const std::array nodes{at, before};
  std::array<EdgeRange, 2> lists;
  topology.read_lists(nodes, lists);
  const int64_t edge =
      lists[0].first + choose_place({topology, before, lists[0], lists[1]}, chances, uniform);
  int64_t chosen = 0;
  topology.read_neighbours({&edge, 1}, {&chosen, 1});
  return chosen;
}

}  // namespace plimsoll
