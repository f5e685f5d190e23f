#pragma once

// The CUDA kernels of path_message_gpu.h as steps (warp.h).

#include <cmath>

#include "kernels/count_below.h"
#include "kernels/path_message/path_message_gpu.h"
#include "kernels/warp.h"

namespace plimsoll {

/// The edges of node k that lead to neither of two other nodes.
struct PathEnds {
  int64_t begin, edges;
  int64_t hole[2], size[2];  ///< The place of the first edge to each of the two other nodes, and the number
                             ///< of parallel edges.

  PLIMSOLL_DEVICE PathEnds(const PathGraph& graph, int32_t k, int32_t i, int32_t j)
      : begin(graph.row_begin[k]), edges(graph.row_begin[k + 1] - begin), hole{}, size{} {
    const int32_t others[2] = {i < j ? i : j, i < j ? j : i};
    const int32_t* const target = graph.target + begin;
    for (int n = 0; n < 2; ++n) {
      hole[n] = count_below(target, edges, others[n]);
      size[n] = count_below(target, edges, others[n] + 1) - hole[n];
    }
  }
  PLIMSOLL_DEVICE int64_t count() const { return edges - size[0] - size[1]; }
  /// Returns the place of edge number `end` in the graph's targets.
  PLIMSOLL_DEVICE int64_t place(int64_t end) const {
    for (int n = 0; n < 2; ++n)
      if (end >= hole[n]) end += size[n];
    return begin + end;
  }
};

/// Item: an edge.
struct CountEdgePaths {
  PathGraph graph;
  int64_t* counts;

  template <typename Warp>
  PLIMSOLL_DEVICE void operator()(const Warp& warp, int64_t item) const {
    const int64_t* const row = graph.row_begin;
    PerLane<Warp, int64_t> paths;
    if (item < row[graph.nodes]) {
      const auto i = static_cast<int32_t>(count_below(row, graph.nodes + 1, item + 1) - 1);
      const int32_t j = graph.target[item];
      warp.each([&](int lane) {
        for (int64_t f = row[j] + lane; f < row[j + 1]; f += kWarpLanes)
          if (const int32_t k = graph.target[f]; k != i) paths[lane] += PathEnds(graph, k, i, j).count();
      });
    }
    warp.sum(paths, 1, kWarpLanes);
    warp.each([&](int lane) {
      if (lane == 0) counts[item] = paths[lane];
    });
  }
};

struct PathNodes {
  int32_t node[4];  ///< i, j, k, p.

  /// Finds the nodes of the path with index `path` among all paths.
  PLIMSOLL_DEVICE PathNodes(const PathNumbers& numbers, int64_t path) : node{} {
    const PathGraph& graph = numbers.graph;
    const int64_t* const row = graph.row_begin;
    const int64_t self = graph.self_paths ? 1 : 0;
    // The search finds the last node with at most `path` paths before its own paths.
    int64_t i = 0;
    for (int64_t end = graph.nodes; end - i > 1;) {
      const int64_t middle = (i + end) / 2;
      if (numbers.before[row[middle]] + self * middle <= path)
        i = middle;
      else
        end = middle;
    }
    path -= self * (i + 1);  // The index among the paths that use edges.
    for (int n = 0; n < 4; ++n) node[n] = static_cast<int32_t>(i);
    if (self != 0 && path < numbers.before[row[i]]) return;
    const int64_t* const before = numbers.before + row[i];
    const int64_t edge = row[i] + count_below(before, row[i + 1] - row[i], path + 1) - 1;
    int64_t rest = path - numbers.before[edge];
    node[1] = graph.target[edge];
    for (int64_t f = row[node[1]];; ++f) {
      node[2] = graph.target[f];
      if (node[2] == node[0]) continue;
      const PathEnds ends(graph, node[2], node[0], node[1]);
      if (rest < ends.count()) {
        node[3] = graph.target[ends.place(rest)];
        return;
      }
      rest -= ends.count();
    }
  }
};

/// Lengths and angles of one path, computed as in path_geometry.h. This must be compiled without fused
/// multiply-add: for points on a line, the two products of a cross product are then the same number, and
/// their difference is 0.
template <typename T>
struct PathMeasures {
  T distance[3];  ///< Distances of the edge, the triple and the path.
  T angle[3];     ///< The first is not used.
  T torsion, cosine;

  PLIMSOLL_DEVICE PathMeasures(const T* pos, const int32_t* node, bool angles, bool periodic)
      : distance{}, angle{}, torsion(0), cosine(1) {
    const Point at_j(pos + 3 * int64_t{node[1]});
    const Point a = at_j - Point(pos + 3 * int64_t{node[0]});
    const Point b = Point(pos + 3 * int64_t{node[2]}) - at_j;
    const Point c = Point(pos + 3 * int64_t{node[3]}) - at_j;
    distance[0] = static_cast<T>(a.length());
    distance[1] = static_cast<T>(b.length());
    distance[2] = static_cast<T>(c.length());
    if (!angles) return;
    const Point v = a.cross(b);
    const Point w = a.cross(c);
    angle[1] = angle_of(v.length(), a.dot(b));
    angle[2] = angle_of(w.length(), a.dot(c));
    const Point n = v.cross(w);
    const double side = n.dot(a);
    const double along = v.dot(w);
    if (periodic) {
      const double length = a.length();
      half_angle(along, length > 0 ? side / length : 0.0);
    } else {
      const T found = angle_of(n.length(), along);
      torsion = side > 0 ? found : side < 0 ? -found : T(0);
    }
  }

 private:
  struct Point {
    double x, y, z;
    PLIMSOLL_DEVICE Point(double px, double py, double pz) : x(px), y(py), z(pz) {}
    PLIMSOLL_DEVICE explicit Point(const T* at)
        : x(static_cast<double>(at[0])), y(static_cast<double>(at[1])), z(static_cast<double>(at[2])) {}
    PLIMSOLL_DEVICE Point operator-(const Point& o) const { return {x - o.x, y - o.y, z - o.z}; }
    PLIMSOLL_DEVICE double dot(const Point& o) const { return x * o.x + y * o.y + z * o.z; }
    PLIMSOLL_DEVICE Point cross(const Point& o) const {
      return {y * o.z - z * o.y, z * o.x - x * o.z, x * o.y - y * o.x};
    }
    PLIMSOLL_DEVICE double length() const { return std::sqrt(dot(*this)); }
  };
  PLIMSOLL_DEVICE static T angle_of(double y, double x) {
    return static_cast<T>(std::atan2(y, x + 0.0));  // Adding 0.0 avoids -0.
  }
  PLIMSOLL_DEVICE void half_angle(double x, double y) {
    const double size = std::sqrt(x * x + y * y);
    if (!(size > 0)) return;
    const double large = std::sqrt((size + (x < 0 ? -x : x)) / (2 * size));
    const double small = y / (2 * size * large);
    torsion = static_cast<T>(x < 0 ? (y < 0 ? -large : large) : small);
    cosine = static_cast<T>(x < 0 ? (y < 0 ? -small : small) : large);
  }
};

/// Item: a path. Each lane finds the path itself, and computes the Gaussians of some columns.
template <typename T>
struct FindPaths {
  FoundPaths<T> paths;

  template <typename Warp>
  PLIMSOLL_DEVICE void operator()(const Warp& warp, int64_t item) const {
    const PathBasis<T>& basis = paths.basis;
    warp.each([&](int lane) {
      const PathNodes path(paths.numbers, paths.first + item);
      if (lane == 0)
        for (int n = 0; n < 4; ++n) paths.node[n][item] = path.node[n];
      const PathMeasures<T> found(paths.pos, path.node, basis.angles > 0, paths.periodic);
      for (int level = 0; level < 3; ++level) {
        const int64_t columns =
            basis.distances + (level > 0 ? basis.angles : 0) + (level > 1 ? basis.torsions : 0);
        for (int64_t c = lane; c < columns; c += kWarpLanes) {
          const bool torsion = c >= basis.distances + basis.angles;
          const T value = c < basis.distances ? found.distance[level]
                          : torsion           ? found.torsion
                                              : found.angle[level];
          const T off = value * basis.slope[c] - (torsion ? found.cosine : T(1)) * basis.offset[c];
          paths.gaussians[level][item * columns + c] = std::exp(-(off * off));
        }
      }
    });
  }
};

/// Item: a path.
template <typename T>
struct GatherRows {
  GatheredRows<T> rows;

  template <typename Warp>
  PLIMSOLL_DEVICE void operator()(const Warp& warp, int64_t item) const {
    const int64_t width = rows.width;
    warp.each([&](int lane) {
      for (int64_t c = lane; c < width; c += kWarpLanes) {
        T sum(0);
        for (int role = 0; role < 4; ++role)
          sum += rows.table[(rows.node[role][item] * int64_t{4} + role) * width + c];
        rows.out[item * width + c] = sum;
      }
    });
  }
};

/// Item: (row, block of columns). The first row with an entry of `at` adds up all rows with the same entry.
template <typename T>
struct ScatterRows {
  ScatteredRows<T> rows;

  constexpr int64_t blocks() const { return (rows.width + kWarpLanes - 1) / kWarpLanes; }
  PLIMSOLL_DEVICE int64_t source(int64_t row) const { return rows.order != nullptr ? rows.order[row] : row; }

  template <typename Warp>
  PLIMSOLL_DEVICE void operator()(const Warp& warp, int64_t item) const {
    const int64_t row = item / blocks();
    const int32_t at = rows.at[row];
    if (row > 0 && rows.at[row - 1] == at) return;
    const int64_t end = row + count_below(rows.at + row, rows.rows - row, at + 1);
    warp.each([&](int lane) {
      const int64_t c = item % blocks() * kWarpLanes + lane;
      if (c >= rows.width) return;
      T& to = rows.out[at * rows.step + c];
      T sum = to;
      // Several rows are loaded at once and added in order.
      constexpr int kAtOnce = 8;
      int64_t r = row;
      for (; r + kAtOnce <= end; r += kAtOnce) {
        T several[kAtOnce];
        for (int n = 0; n < kAtOnce; ++n) several[n] = rows.in[source(r + n) * rows.width + c];
        for (int n = 0; n < kAtOnce; ++n) sum += several[n];
      }
      for (; r < end; ++r) sum += rows.in[source(r) * rows.width + c];
      to = sum;
    });
  }
};

}  // namespace plimsoll
