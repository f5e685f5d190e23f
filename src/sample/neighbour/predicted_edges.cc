#include "sample/neighbour/predicted_edges.h"

#include <algorithm>
#include <tuple>

namespace plimsoll {
namespace {

constexpr size_t kEndsTogether = 1024;  // Number of ends that are looked up together.
constexpr int64_t kBytesOfOne = 128;    // Bytes of scratch memory per end, including the memory of
                                        // ListSearch.

}  // namespace

int64_t PredictedEdges::bytes_for(int64_t pairs) {
  const int64_t ends = 2 * pairs;
  // A column that grows temporarily needs three times its size.
  return 3 * ends * static_cast<int64_t>(sizeof(End) + sizeof(EdgeRun)) +
         std::min(ends, static_cast<int64_t>(kEndsTogether)) * 2 * kBytesOfOne;
}

void PredictedEdges::add(uint32_t batch, int64_t a, int64_t b) {
  found_.push_back({batch, a, b, {}});
  if (a != b) found_.push_back({batch, b, a, {}});
}

void PredictedEdges::find(const Topology& topology) {
  ListSearch search(topology);
  // Sorts by node, which is the order on disk.
  std::ranges::sort(found_, {},
                    [](const End& end) { return std::tuple(end.node, end.neighbour, end.batch); });
  for (size_t first = 0; first < found_.size(); first += kEndsTogether)
    look_up(topology, search,
            std::span(found_).subspan(first, std::min(kEndsTogether, found_.size() - first)));
  std::erase_if(found_, [](const End& end) { return end.run.begin == end.run.end; });
  const auto key = [](const End& end) { return std::tuple(end.batch, end.node, end.run.begin); };
  std::ranges::sort(found_, {}, key);
  const auto again = std::ranges::unique(found_, {}, key);
  found_.erase(again.begin(), again.end());
}

// Sets the run of each end: from the first index of the neighbour to the first of a greater node.
void PredictedEdges::look_up(const Topology& topology, ListSearch& search, std::span<End> ends) {
  nodes_.clear();
  neighbours_.clear();
  for (const End& end : ends) {
    nodes_.push_back(end.node);
    neighbours_.push_back(end.neighbour);
  }
  lists_.resize(ends.size());
  places_.resize(ends.size());
  is_there_.resize(ends.size());
  topology.read_lists(nodes_, lists_);
  search.find(lists_, neighbours_, places_, is_there_);
  for (size_t i = 0; i < ends.size(); ++i) {
    const int64_t begin = lists_[i].first + places_[i];
    ends[i].run = {begin, begin};
    if (is_there_[i] == 0) lists_[i].degree = 0;  // The list need not be searched again.
    ++neighbours_[i];
  }
  search.find(lists_, neighbours_, places_, is_there_);
  for (size_t i = 0; i < ends.size(); ++i)
    ends[i].run.end = std::max(ends[i].run.begin, lists_[i].first + places_[i]);
}

NeighbourChoice::Without PredictedEdges::of_node(uint32_t batch, int64_t node) {
  runs_.clear();
  if (found_.empty()) return {};
  const auto key = [](const End& end) { return std::tuple(end.batch, end.node); };
  for (const End& end : std::ranges::equal_range(found_, std::tuple(batch, node), {}, key))
    runs_.push_back(end.run);
  return runs_;
}

}  // namespace plimsoll
