#pragma once

#include <cstdint>

#include "kernels/level.h"
#include "kernels/path_tiles.h"

namespace plimsoll {

/// Gaussians on which the lengths and angles of paths are spread, those of distances first, then of angles,
/// then of torsions. Of a value s = u / w number c is exp(-(u slope[c] - w offset[c])^2): with slope 1 / (sqrt(2)
/// width) and offset centre * slope a Gaussian; of u = sin(s / 2) and w = cos(s / 2) with sqrt(2) cos(m / 2) /
/// width and sqrt(2) sin(m / 2) / width the periodic exp((cos(s - m) - 1) / width^2).
template <typename T>
struct PathBasis {
  int64_t distances = 0, angles = 0, torsions = 0;
  const T* slope = nullptr;   ///< [distances + angles + torsions]
  const T* offset = nullptr;  ///< likewise
};

/// Lengths and angles of what a tile has, measured in float64. Arrays of the tile's capacity; a and v are [capacity, 3]. angle, v
/// and what is of torsions is null where there are distances alone.
template <typename T>
struct PathGeometry {
  T* edge_distance = nullptr;  ///< |a|, a = r_j - r_i
  double* edge_a = nullptr;
  T* triple_distance = nullptr;  ///< |b|, b = r_k - r_j
  T* triple_angle = nullptr;     ///< of b to a
  double* triple_v = nullptr;    ///< a x b
  T* path_distance = nullptr;    ///< |c|, c = r_p - r_j
  T* path_angle = nullptr;       ///< of c to a
  T* path_torsion = nullptr;     ///< of c to b about a; its half's sine where the basis is periodic
  T* path_cosine = nullptr;      ///< 1; its half's cosine
};

/// What a tile of paths needs beside products (kernels/product.h). Rows in order, columns in vectors: the
/// same bits at one level. T is float or double. Thread-safe.
template <typename T>
struct PathKernels {
  /// Lengths and angles of a tile; pos [slots, 3].
  void (*measure)(const PathTile& tile, const T* pos, bool periodic, const PathGeometry<T>& to);
  /// Gaussians of distances, of angles where they are given, and of torsions where they are: number c of row r
  /// is out[c * step + r].
  void (*spread)(const PathBasis<T>& basis, const T* distance, const T* angle, const T* torsion,
                 const T* cosine, int64_t rows, int64_t step, T* out);

  /// out[r] = a[at_a[r]] + b[at_b[r]] (+ c[at_c[r]]), rows of `width` numbers, those of a and b some step
  /// apart; with relu what is below 0 becomes 0. c and at_c may be null.
  void (*gather)(const T* a, int64_t step_a, const int32_t* at_a, const T* b, int64_t step_b,
                 const int32_t* at_b, const T* c, const int32_t* at_c, int64_t rows, int64_t width, bool relu,
                 T* out);
  /// out[at[r]] += in[r], rows of out `step` apart.
  void (*scatter)(const T* in, int64_t rows, int64_t width, const int32_t* at, int64_t step, T* out);
  /// sum += the columns of rows.
  void (*add_columns)(const T* in, int64_t rows, int64_t width, T* sum);
  /// gradient = value > 0 ? gradient : 0, and its columns added to `sum`.
  void (*mask)(T* gradient, const T* value, int64_t rows, int64_t width, T* sum);
  /// value[r] = value[r] > 0 ? from[at[r]] : 0, and its columns added to `sum`.
  void (*mask_rows)(const T* from, const int32_t* at, T* value, int64_t rows, int64_t width, T* sum);
  /// gradient as mask(), and its rows added to a[at_a[r]] and to b[at_b[r]], rows of b `step` apart.
  void (*mask_and_scatter)(T* gradient, const T* value, int64_t rows, int64_t width, T* a,
                           const int32_t* at_a, T* b, const int32_t* at_b, int64_t step);
};

template <typename T>
const PathKernels<T>& path_kernels(Level level);

}  // namespace plimsoll
