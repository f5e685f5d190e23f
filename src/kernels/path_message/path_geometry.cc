#include "kernels/path_message/path_geometry.h"

#include <cmath>

// Products and sums are rounded separately in this file. For points on a line the two products of a cross
// product are then the same number, and their difference is 0.

namespace plimsoll {
namespace {

// Lengths and angles are computed in float64, in which products of float32 differences are nearly exact and
// do not underflow to 0 if all differences are small.
struct Point {
  double x, y, z;

  Point operator-(const Point& b) const { return {x - b.x, y - b.y, z - b.z}; }
  double dot(const Point& b) const { return x * b.x + y * b.y + z * b.z; }
  Point cross(const Point& b) const { return {y * b.z - z * b.y, z * b.x - x * b.z, x * b.y - y * b.x}; }
  double length() const { return std::sqrt(dot(*this)); }
  template <typename T>
  static Point load(const T* at) {
    return {static_cast<double>(at[0]), static_cast<double>(at[1]), static_cast<double>(at[2])};
  }
  void store(double* at) const {
    at[0] = x;
    at[1] = y;
    at[2] = z;
  }
};

/// Writes atan2(y, x) for y >= 0, in [0, pi], or 0 if both are 0. float32 is computed to 2 units in the last
/// place by the polynomial of Cephes' atanf; float64 calls the C library.
void set_angle(double y, double x, float& to) {
  const double wide = x < 0 ? -x : x;
  const double max = y > wide ? y : wide;
  const double min = y > wide ? wide : y;
  const auto ratio = static_cast<float>(max > 0 ? min / max : 0.0);
  const bool far = ratio > 0.414213562F;  // tan(pi / 8).
  const float q = far ? (ratio - 1.0F) / (ratio + 1.0F) : ratio;
  const float s = q * q;
  float r = (((8.05374449538e-2F * s - 1.38776856032e-1F) * s + 1.99777106478e-1F) * s - 3.33329491539e-1F) *
                s * q +
            q;
  r = far ? r + 0.785398163397448F : r;
  r = y > wide ? 1.570796326794897F - r : r;
  to = x < 0 ? 3.141592653589793F - r : r;
}
void set_angle(double y, double x, double& to) {
  to = std::atan2(y, x + 0.0);  // Adding 0.0 avoids -0.
}

// Computes the sine and cosine of half the angle atan2(y, x). The larger of the two is computed first, and
// the other from it. The angle is 0 if x and y are 0.
template <typename T>
void half_angle(double x, double y, T& sine, T& cosine) {
  const double size = std::sqrt(x * x + y * y);
  if (!(size > 0)) {
    sine = T(0);
    cosine = T(1);
    return;
  }
  const double large = std::sqrt((size + (x < 0 ? -x : x)) / (2 * size));
  const double small = y / (2 * size * large);
  sine = static_cast<T>(x < 0 ? (y < 0 ? -large : large) : small);
  cosine = static_cast<T>(x < 0 ? (y < 0 ? -small : small) : large);
}

}  // namespace

template <typename T>
void measure_paths(const PathTile& tile, const T* pos, bool periodic, const PathGeometry<T>& to) {
  const auto at = [&](int32_t slot) { return Point::load(pos + 3 * int64_t{slot}); };
  for (int64_t e = 0; e < tile.edges; ++e) {
    const Point a = at(tile.edge_target[e]) - at(tile.edge_source[e]);
    a.store(to.edge_a + 3 * e);
    to.edge_distance[e] = static_cast<T>(a.length());
  }
  const bool angles = to.triple_angle != nullptr;
  for (int64_t t = 0; t < tile.triples; ++t) {
    const int64_t e = tile.triple_edge[t];
    const Point b = at(tile.triple_node[t]) - at(tile.edge_target[e]);
    to.triple_distance[t] = static_cast<T>(b.length());
    if (!angles) continue;
    const Point a = Point::load(to.edge_a + 3 * e);
    const Point v = a.cross(b);
    v.store(to.triple_v + 3 * t);
    set_angle(v.length(), a.dot(b), to.triple_angle[t]);
  }
  for (int64_t p = 0; p < tile.paths; ++p) {
    const int64_t t = tile.path_triple[p];
    const int64_t e = tile.triple_edge[t];
    const Point c = at(tile.path_node[p]) - at(tile.edge_target[e]);
    to.path_distance[p] = static_cast<T>(c.length());
    if (!angles) continue;
    const Point a = Point::load(to.edge_a + 3 * e);
    const Point v = Point::load(to.triple_v + 3 * t);
    const Point w = a.cross(c);
    set_angle(w.length(), a.dot(c), to.path_angle[p]);
    const Point n = v.cross(w);
    const double side = n.dot(a);
    const double along = v.dot(w);
    to.path_cosine[p] = T(1);
    if (periodic) {
      const double length = a.length();
      half_angle(along, length > 0 ? side / length : 0.0, to.path_torsion[p], to.path_cosine[p]);
    } else {
      T torsion;
      set_angle(n.length(), along, torsion);
      to.path_torsion[p] = side > 0 ? torsion : side < 0 ? -torsion : T(0);
    }
  }
}

template void measure_paths(const PathTile&, const float*, bool, const PathGeometry<float>&);
template void measure_paths(const PathTile&, const double*, bool, const PathGeometry<double>&);

}  // namespace plimsoll
