#include "ingest/points/nearest.h"

#include <algorithm>
#include <limits>
#include <nanoflann.hpp>
#include <utility>
#include <vector>

#include "memory/charge.h"
#include "store/graph_set.h"

namespace plimsoll {
namespace {

// Points as nanoflann asks for them.
struct Cloud {
  std::span<const float> pos;

  size_t kdtree_get_point_count() const { return pos.size() / kCoordinates; }
  double kdtree_get_pt(uint32_t point, size_t axis) const {
    return double{pos[size_t{kCoordinates} * point + axis]};
  }
  template <typename Box>
  bool kdtree_get_bbox(Box&) const {
    return false;
  }
};
using Tree = nanoflann::KDTreeSingleIndexAdaptor<nanoflann::L2_Simple_Adaptor<double, Cloud>, Cloud,
                                                 kCoordinates, uint32_t>;

// The k nearest points but one, by distance and then by index. nanoflann's own set takes of equal distances
// those that it meets first.
class Nearest {
 public:
  Nearest(uint32_t self, size_t k, std::vector<std::pair<double, uint32_t>>& found)
      : self_(self), k_(k), found_(found) {
    found_.clear();
  }
  size_t size() const { return found_.size(); }
  bool full() const { return found_.size() == k_; }
  // A little more than the greatest distance, so that no equal one is passed over: a tree's bounds are
  // rounded.
  double worstDist() const {  // NOLINT(readability-identifier-naming): the name that nanoflann calls
    constexpr double kSlack = 1 + 1e-9;
    if (!full()) return std::numeric_limits<double>::infinity();
    return found_.back().first * kSlack + std::numeric_limits<double>::min();
  }
  bool addPoint(double distance, uint32_t point) {  // NOLINT(readability-identifier-naming): likewise
    if (point == self_) return true;
    const std::pair entry(distance, point);
    if (full() && found_.back() < entry) return true;
    if (full()) found_.pop_back();
    found_.insert(std::upper_bound(found_.begin(), found_.end(), entry), entry);
    return true;
  }

 private:
  const uint32_t self_;
  const size_t k_;
  std::vector<std::pair<double, uint32_t>>& found_;
};

}  // namespace

void nearest_neighbours(std::span<const float> pos, int64_t k, Vector<int32_t, Tag::ingest>& edges) {
  const auto points = static_cast<int64_t>(pos.size()) / kCoordinates;
  const auto others = static_cast<size_t>(std::clamp<int64_t>(points - 1, 0, k));
  edges.clear();
  edges.reserve(2 * static_cast<size_t>(points) * others);
  if (others == 0) return;
  // A tree has fewer than two nodes of 40 bytes a point, in pieces of 8 KiB, and an index of each.
  const Charge charge(Tag::ingest, points * (2 * 40 + 4) + (16 << 10) + static_cast<int64_t>(others * 16));
  const Cloud cloud{pos};
  const Tree tree(kCoordinates, cloud);
  std::vector<std::pair<double, uint32_t>> found;
  found.reserve(others);
  for (int64_t point = 0; point < points; ++point) {
    const auto self = static_cast<uint32_t>(point);
    const std::array<double, kCoordinates> at = {cloud.kdtree_get_pt(self, 0), cloud.kdtree_get_pt(self, 1),
                                                 cloud.kdtree_get_pt(self, 2)};
    Nearest nearest(self, others, found);
    tree.findNeighbors(nearest, at.data(), nanoflann::SearchParams());
    for (const auto& [distance, neighbour] : found) {
      edges.push_back(static_cast<int32_t>(neighbour));
      edges.push_back(static_cast<int32_t>(point));
    }
  }
}

}  // namespace plimsoll
