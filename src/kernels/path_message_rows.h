#pragma once

// The kernels of path_message.h, compiled once a level (levels.h).

#include "kernels/path_message.h"
#include "kernels/simd.h"

namespace plimsoll {
namespace {

// Lengths and angles are measured in float64: products of differences of float32 are nearly exact in it, and
// do not become 0 where all is small.
struct Vector {
  double x, y, z;

  PLIMSOLL_INLINE Vector operator-(const Vector& b) const { return {x - b.x, y - b.y, z - b.z}; }
  PLIMSOLL_INLINE double dot(const Vector& b) const { return x * b.x + y * b.y + z * b.z; }
  PLIMSOLL_INLINE Vector cross(const Vector& b) const {
    return {y * b.z - z * b.y, z * b.x - x * b.z, x * b.y - y * b.x};
  }
  PLIMSOLL_INLINE double length() const { return __builtin_sqrt(dot(*this)); }
  template <typename T>
  static PLIMSOLL_INLINE Vector load(const T* at) {
    return {static_cast<double>(at[0]), static_cast<double>(at[1]), static_cast<double>(at[2])};
  }
  PLIMSOLL_INLINE void store(double* at) const {
    at[0] = x;
    at[1] = y;
    at[2] = z;
  }
};

/// atan2(y, x) for y >= 0, in [0, pi], 0 where both are 0. float32 to 2 units in the last place by the
/// polynomial of Cephes' atanf; float64 takes the C library's.
PLIMSOLL_INLINE void set_angle(double y, double x, float& to) {
  const double wide = x < 0 ? -x : x;
  const double most = y > wide ? y : wide;
  const double least = y > wide ? wide : y;
  const auto ratio = static_cast<float>(most > 0 ? least / most : 0.0);
  const bool far = ratio > 0.414213562F;  // tan(pi / 8)
  const float q = far ? (ratio - 1.0F) / (ratio + 1.0F) : ratio;
  const float s = q * q;
  float r = (((8.05374449538e-2F * s - 1.38776856032e-1F) * s + 1.99777106478e-1F) * s - 3.33329491539e-1F) *
                s * q +
            q;
  r = far ? r + 0.785398163397448F : r;
  r = y > wide ? 1.570796326794897F - r : r;
  to = x < 0 ? 3.141592653589793F - r : r;
}
PLIMSOLL_INLINE void set_angle(double y, double x, double& to) {
  to = ::atan2(y, x + 0.0);  // never -0
}

template <typename T, int kLanes>
struct PathRows {
  using L = Lanes<T, kLanes>;
  using Vec = typename L::Vec;

  static void measure(const PathTile& tile, const T* pos, bool periodic, const PathGeometry<T>& to) {
    const auto at = [&](int32_t slot) { return Vector::load(pos + 3 * int64_t{slot}); };
    for (int64_t e = 0; e < tile.edges; ++e) {
      const Vector a = at(tile.edge_target[e]) - at(tile.edge_source[e]);
      a.store(to.edge_a + 3 * e);
      to.edge_distance[e] = static_cast<T>(a.length());
    }
    const bool angles = to.triple_angle != nullptr;
    for (int64_t t = 0; t < tile.triples; ++t) {
      const int64_t e = tile.triple_edge[t];
      const Vector b = at(tile.triple_node[t]) - at(tile.edge_target[e]);
      to.triple_distance[t] = static_cast<T>(b.length());
      if (!angles) continue;
      const Vector a = Vector::load(to.edge_a + 3 * e);
      const Vector v = a.cross(b);
      v.store(to.triple_v + 3 * t);
      set_angle(v.length(), a.dot(b), to.triple_angle[t]);
    }
    for (int64_t p = 0; p < tile.paths; ++p) {
      const int64_t t = tile.path_triple[p];
      const int64_t e = tile.triple_edge[t];
      const Vector c = at(tile.path_node[p]) - at(tile.edge_target[e]);
      to.path_distance[p] = static_cast<T>(c.length());
      if (!angles) continue;
      const Vector a = Vector::load(to.edge_a + 3 * e);
      const Vector v = Vector::load(to.triple_v + 3 * t);
      const Vector w = a.cross(c);
      set_angle(w.length(), a.dot(c), to.path_angle[p]);
      const Vector n = v.cross(w);
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

  // Of the angle whose cosine and sine are to each other as x and y the half's, by whichever is not small. 0
  // where both are 0.
  static PLIMSOLL_INLINE void half_angle(double x, double y, T& sine, T& cosine) {
    const double size = __builtin_sqrt(x * x + y * y);
    if (!(size > 0)) {
      sine = T(0);
      cosine = T(1);
      return;
    }
    const double large = __builtin_sqrt((size + (x < 0 ? -x : x)) / (2 * size));
    const double small = y / (2 * size * large);
    sine = static_cast<T>(x < 0 ? (y < 0 ? -large : large) : small);
    cosine = static_cast<T>(x < 0 ? (y < 0 ? -small : small) : large);
  }

  static void spread(const PathBasis<T>& basis, const T* distance, const T* angle, const T* torsion,
                     const T* cosine, int64_t rows, int64_t step, T* out) {
    const T* slope = basis.slope;
    const T* offset = basis.offset;
    // Rows in vectors; the last begins early rather than to end late.
    const auto column = [&](const T* value, const T* beside) {
      const auto work = [&](auto lanes, int64_t r) __attribute__((always_inline)) {
        const auto centre = beside == nullptr ? lanes.all(*offset) : lanes.load(beside + r) * lanes.all(*offset);
        const auto off = lanes.load(value + r) * lanes.all(*slope) - centre;
        lanes.store(out + r, exp_of_negative(lanes, -(off * off)));
      };
      int64_t r = 0;
      for (; r + kLanes <= rows; r += kLanes) work(L(), r);
      if (r < rows && rows >= kLanes)
        work(L(), rows - kLanes);
      else
        for (; r < rows; ++r) work(Lanes<T, 1>(), r);
      ++slope;
      ++offset;
      out += step;
    };
    for (int64_t c = 0; c < basis.distances; ++c) column(distance, nullptr);
    if (angle == nullptr) return;
    for (int64_t c = 0; c < basis.angles; ++c) column(angle, nullptr);
    if (torsion == nullptr) return;
    for (int64_t c = 0; c < basis.torsions; ++c) column(torsion, cosine);
  }

  static void gather(const T* a, int64_t step_a, const int32_t* at_a, const T* b, int64_t step_b,
                     const int32_t* at_b, const T* c, const int32_t* at_c, int64_t rows, int64_t width,
                     bool relu, T* out) {
    for (int64_t r = 0; r < rows; ++r, out += width) {
      const T* const first = a + at_a[r] * step_a;
      const T* const second = b + at_b[r] * step_b;
      const T* const third = c == nullptr ? nullptr : c + at_c[r] * width;
      columns(
          width, [&](auto lanes, int64_t i) __attribute__((always_inline)) {
            auto sum = lanes.load(first + i) + lanes.load(second + i);
            if (third != nullptr) sum += lanes.load(third + i);
            lanes.store(out + i, relu ? positive(lanes, sum) : sum);
          });
    }
  }

  static void scatter(const T* in, int64_t rows, int64_t width, const int32_t* at, int64_t step, T* out) {
    for (int64_t r = 0; r < rows; ++r, in += width) add(in, width, out + at[r] * step);
  }

  static void add_columns(const T* in, int64_t rows, int64_t width, T* sum) {
    for (int64_t r = 0; r < rows; ++r, in += width) add(in, width, sum);
  }

  static void mask(T* gradient, const T* value, int64_t rows, int64_t width, T* sum) {
    for (int64_t r = 0; r < rows; ++r, gradient += width, value += width)
      columns(
          width, [&](auto lanes, int64_t i) __attribute__((always_inline)) {
            const auto kept = where_positive(lanes, lanes.load(value + i), lanes.load(gradient + i));
            lanes.store(gradient + i, kept);
            lanes.store(sum + i, lanes.load(sum + i) + kept);
          });
  }

  static void mask_rows(const T* from, const int32_t* at, T* value, int64_t rows, int64_t width, T* sum) {
    for (int64_t r = 0; r < rows; ++r, value += width) {
      const T* const row = from + at[r] * width;
      columns(
          width, [&](auto lanes, int64_t i) __attribute__((always_inline)) {
            const auto kept = where_positive(lanes, lanes.load(value + i), lanes.load(row + i));
            lanes.store(value + i, kept);
            lanes.store(sum + i, lanes.load(sum + i) + kept);
          });
    }
  }

  static void mask_and_scatter(T* gradient, const T* value, int64_t rows, int64_t width, T* a,
                               const int32_t* at_a, T* b, const int32_t* at_b, int64_t step) {
    for (int64_t r = 0; r < rows; ++r, gradient += width, value += width) {
      T* const first = a + at_a[r] * width;
      T* const second = b + at_b[r] * step;
      columns(
          width, [&](auto lanes, int64_t i) __attribute__((always_inline)) {
            const auto kept = where_positive(lanes, lanes.load(value + i), lanes.load(gradient + i));
            lanes.store(gradient + i, kept);
            lanes.store(first + i, lanes.load(first + i) + kept);
            lanes.store(second + i, lanes.load(second + i) + kept);
          });
    }
  }

 private:
  template <typename Work>
  static PLIMSOLL_INLINE void columns(int64_t width, const Work& work) {
    int64_t i = 0;
    for (; i + kLanes <= width; i += kLanes) work(L(), i);
    for (; i < width; ++i) work(Lanes<T, 1>(), i);
  }
  template <typename Any>
  static PLIMSOLL_INLINE auto positive(Any lanes, typename Any::Vec value) {
    return value > lanes.all(0) ? value : lanes.all(0);
  }
  template <typename Any>
  static PLIMSOLL_INLINE auto where_positive(Any lanes, typename Any::Vec value, typename Any::Vec kept) {
    return value > lanes.all(0) ? kept : lanes.all(0);
  }
  static PLIMSOLL_INLINE void add(const T* in, int64_t width, T* out) {
    columns(
        width, [&](auto lanes, int64_t i) __attribute__((always_inline)) {
          lanes.store(out + i, lanes.load(out + i) + lanes.load(in + i));
        });
  }
};

template <typename T, int kBytes>
constexpr PathKernels<T> make_path_kernels() {
  using Rows = PathRows<T, kBytes / static_cast<int>(sizeof(T))>;
  return {Rows::measure, Rows::spread, Rows::gather,    Rows::scatter,
          Rows::add_columns, Rows::mask, Rows::mask_rows, Rows::mask_and_scatter};
}

}  // namespace

namespace PLIMSOLL_LEVEL {
extern const PathKernels<float> path_message_f32 = make_path_kernels<float, PLIMSOLL_VECTOR_BYTES>();
extern const PathKernels<double> path_message_f64 = make_path_kernels<double, PLIMSOLL_VECTOR_BYTES>();
}  // namespace PLIMSOLL_LEVEL

}  // namespace plimsoll
