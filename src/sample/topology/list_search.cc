#include "sample/topology/list_search.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "sample/topology/list_stream.h"

namespace plimsoll {

// Finds the index in each list at which is_below(list, place, neighbour) becomes false.
template <typename IsBelow>
void ListSearch::search(std::span<const EdgeRange> lists, std::span<int64_t> places,
                        const IsBelow& is_below) {
  open_.clear();
  open_.reserve(lists.size());
  for (size_t i = 0; i < lists.size(); ++i) {
    places[i] = 0;
    if (lists[i].degree > 0) open_.push_back({i, 0, lists[i].degree});
  }
  while (!open_.empty()) {
    edges_.resize(open_.size());
    neighbours_.resize(open_.size());
    for (size_t i = 0; i < open_.size(); ++i) edges_[i] = lists[open_[i].list].first + open_[i].middle();
    topology_.read_neighbours(edges_, neighbours_);
    size_t still = 0;
    for (size_t i = 0; i < neighbours_.size(); ++i) {
      OpenSearch open = open_[i];
      if (is_below(open.list, open.middle(), neighbours_[i]))
        open.low = open.middle() + 1;
      else
        open.high = open.middle();
      places[open.list] = open.low;
      if (open.low < open.high) open_[still++] = open;
    }
    open_.resize(still);
  }
}

void ListSearch::find(std::span<const EdgeRange> lists, std::span<const int64_t> nodes,
                      std::span<int64_t> places, std::span<uint8_t> found) {
  std::fill(found.begin(), found.end(), uint8_t{0});
  search(lists, places, [&](size_t list, int64_t, int64_t neighbour) {
    // A node that is in the list is compared with itself during the search.
    if (neighbour == nodes[list]) found[list] = 1;
    return neighbour < nodes[list];
  });
}

// Before index p of an ascending list, neighbour(p) - p nodes are missing.
void ListSearch::find_missing(std::span<const EdgeRange> lists, std::span<const int64_t> ranks,
                              std::span<int64_t> nodes) {
  search(lists, nodes,
         [&](size_t list, int64_t place, int64_t neighbour) { return neighbour - place <= ranks[list]; });
  for (size_t i = 0; i < lists.size(); ++i) nodes[i] += ranks[i];
}

void require_ascending_lists(const Topology& topology) {
  int64_t last = -1;
  stream_lists(
      topology,
      [&](int64_t node, std::span<const int64_t> neighbours) {
        for (const int64_t neighbour : neighbours) {
          if (neighbour <= last)
            throw InputError(fmt::format(
                "indices: found {} after {} in the list of node {}, expected ascending neighbours without "
                "repetition; make the data set again, sorted and deduplicated",
                neighbour, last, node));
          last = neighbour;
        }
      },
      [&](int64_t) { last = -1; });
}

}  // namespace plimsoll
