#include "ingest/points/nearest.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nanoflann.hpp>
#include <numeric>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/interrupt.h"
#include "memory/charge.h"
#include "store/graph_set.h"

namespace plimsoll {
namespace {

using Points = Vector<uint32_t, Tag::ingest>;

// The points of `pos` whose indices are in `points`, with the interface that nanoflann needs.
struct Cloud {
  std::span<const float> pos;
  const Points& points;

  size_t kdtree_get_point_count() const { return points.size(); }
  double kdtree_get_pt(uint32_t number, size_t axis) const {
    return double{pos[size_t{kCoordinates} * points[number] + axis]};
  }
  template <typename Box>
  bool kdtree_get_bbox(Box&) const {
    return false;
  }
};
using Tree = nanoflann::KDTreeSingleIndexAdaptor<nanoflann::L2_Simple_Adaptor<double, Cloud>, Cloud,
                                                 kCoordinates, uint32_t>;

// The k nearest points, except the point itself, by distance and then by index. nanoflann's own result set
// would keep whichever of several equally distant points it finds first.
class Nearest {
 public:
  using DistanceType = double;  // Names that nanoflann 1.5 and later uses.
  using IndexType = uint32_t;

  Nearest(uint32_t self, const Points& points, size_t k, std::vector<std::pair<double, uint32_t>>& found)
      : self_(self), points_(points), k_(k), found_(found) {
    found_.clear();
  }
  size_t size() const { return found_.size(); }
  bool full() const { return found_.size() == k_; }
  // Slightly more than the greatest distance, so that no point at an equal distance is skipped, because a
  // tree's bounds are rounded.
  double worstDist() const {  // NOLINT(readability-identifier-naming): the name that nanoflann calls
    constexpr double kSlack = 1 + 1e-9;
    if (!full()) return std::numeric_limits<double>::infinity();
    return found_.back().first * kSlack + std::numeric_limits<double>::min();
  }
  bool addPoint(double distance, uint32_t number) {  // NOLINT(readability-identifier-naming): as above
    const uint32_t point = points_[number];
    if (point == self_) return true;
    const std::pair entry(distance, point);
    if (full() && found_.back() < entry) return true;
    if (full()) found_.pop_back();
    found_.insert(std::upper_bound(found_.begin(), found_.end(), entry), entry);
    return true;
  }
  void sort() {}  // Called by nanoflann 1.5 and later. The points found are always sorted.

 private:
  const uint32_t self_;
  const Points& points_;
  const size_t k_;
  std::vector<std::pair<double, uint32_t>>& found_;
};

// Destination of the edges into points, `others` edges for each point.
class Edges {
 public:
  Edges(int64_t points, size_t others, Vector<int32_t, Tag::ingest>& edges) : others_(others), edges_(edges) {
    edges_.resize(2 * static_cast<size_t>(points) * others);
  }
  void set(uint32_t target, size_t number, uint32_t source) {
    int32_t* const edge = edges_.data() + 2 * (others_ * target + number);
    edge[0] = static_cast<int32_t>(source);
    edge[1] = static_cast<int32_t>(target);
  }

 private:
  const size_t others_;
  Vector<int32_t, Tag::ingest>& edges_;
};

// If enough points have the same place, each gets its edges without a search, from those of the others with
// the lowest indices. A search would visit all points at the place, because all are equally near, and would
// need quadratic time for clouds padded with zeros. Of the points at such a place, the tree contains at most
// one more than a search from another place needs.
class SharedPlaces {
 public:
  SharedPlaces(std::span<const float> pos, size_t others, Edges& edges)
      : pos_(pos), points_(pos.size() / kCoordinates), done_(points_.size(), false) {
    std::iota(points_.begin(), points_.end(), 0U);
    std::ranges::sort(points_, [&](uint32_t a, uint32_t b) {
      const auto at_a = place(a);
      const auto at_b = place(b);
      return at_a != at_b ? at_a < at_b : a < b;
    });
    size_t kept = 0;
    for (size_t first = 0, last = 0; first < points_.size(); first = last) {
      while (last < points_.size() && place(points_[last]) == place(points_[first])) ++last;
      const bool enough = last - first > others;
      if (enough) answer(first, last, others, edges);
      const size_t end = enough ? first + others + 1 : last;
      for (size_t i = first; i < end; ++i) points_[kept++] = points_[i];
    }
    points_.resize(kept);
  }

  bool has_edges(uint32_t point) const { return done_[point]; }
  /// The points in the tree.
  const Points& points() const { return points_; }

 private:
  std::array<float, kCoordinates> place(uint32_t point) const {
    const float* const at = pos_.data() + size_t{kCoordinates} * point;
    return {at[0], at[1], at[2]};
  }
  void answer(size_t first, size_t last, size_t others, Edges& edges) {
    for (size_t i = first; i < last; ++i) {
      const uint32_t target = points_[i];
      done_[target] = true;
      for (size_t number = 0, j = first; number < others; ++j)
        if (j != i) edges.set(target, number++, points_[j]);
    }
  }

  std::span<const float> pos_;
  Points points_;  // Sorted by place, then index.
  std::vector<bool, LedgerAllocator<bool, Tag::ingest>> done_;
};

}  // namespace

void nearest_neighbours(std::span<const float> pos, int64_t k, Vector<int32_t, Tag::ingest>& edges) {
  const auto points = static_cast<int64_t>(pos.size()) / kCoordinates;
  const auto others = static_cast<size_t>(std::clamp<int64_t>(points - 1, 0, k));
  edges.clear();
  if (others == 0) return;
  Edges made(points, others, edges);
  const SharedPlaces places(pos, others, made);
  // A tree has fewer than two nodes of 40 bytes per point, allocated in chunks of 8 KiB, and an index per
  // point.
  const Charge charge(Tag::ingest, static_cast<int64_t>(places.points().size()) * (2 * 40 + 4) + (16 << 10) +
                                       static_cast<int64_t>(others * 16));
  const Cloud cloud{pos, places.points()};
  const Tree tree(kCoordinates, cloud);
  std::vector<std::pair<double, uint32_t>> found;
  found.reserve(others);
  for (uint32_t self = 0; self < points; ++self) {
    if (interrupt_requested) throw Interrupted("interrupted while nearest neighbours were looked for");
    if (places.has_edges(self)) continue;
    const float* const place = pos.data() + size_t{kCoordinates} * self;
    const std::array<double, kCoordinates> at = {place[0], place[1], place[2]};
    Nearest nearest(self, places.points(), others, found);
    tree.findNeighbors(nearest, at.data(), {});
    for (size_t number = 0; number < found.size(); ++number) made.set(self, number, found[number].second);
  }
}

}  // namespace plimsoll
