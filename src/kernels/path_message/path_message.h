#pragma once

#include <cstdint>

#include "kernels/level.h"

namespace plimsoll {

/// Gaussians in which lengths and angles of paths are expanded: first those of distances, then of angles,
/// then of torsions. Function c of a value s is exp(-(u slope[c] - w offset[c])^2). With u = s, w = 1, slope
/// 1 / (sqrt(2) width) and offset centre * slope, this is a Gaussian. With u = sin(s / 2), w = cos(s / 2),
/// slope sqrt(2) cos(m / 2) / width and offset sqrt(2) sin(m / 2) / width, it is the periodic function
/// exp((cos(s - m) - 1) / width^2).
template <typename T>
struct PathBasis {
  int64_t distances = 0, angles = 0, torsions = 0;
  const T* slope = nullptr;   ///< [distances + angles + torsions].
  const T* offset = nullptr;  ///< [distances + angles + torsions].
};

/// The kernels that a tile of paths needs in addition to products (kernels/product/product.h). Rows are
/// processed in order and columns in vectors, so one level always gives the same bits. T is float or double.
/// Thread-safe.
template <typename T>
struct PathKernels {
  /// Computes the Gaussians of distances and, if given, of angles and torsions. Gaussian c of row r is out[c
  /// * step + r]. angle, torsion and cosine may be null: without angle there are no torsions either, and
  /// without cosine it is 1.
  void (*spread)(const PathBasis<T>& basis, const T* distance, const T* angle, const T* torsion,
                 const T* cosine, int64_t rows, int64_t step, T* out);

  /// Computes out[r] = a[at_a[r]] + b[at_b[r]] (+ c[at_c[r]]) for rows of `width` numbers. Rows of a are
  /// step_a numbers apart, and rows of b are step_b numbers apart. With relu, negative results become 0. c
  /// and at_c may be null.
  void (*gather)(const T* a, int64_t step_a, const int32_t* at_a, const T* b, int64_t step_b,
                 const int32_t* at_b, const T* c, const int32_t* at_c, int64_t rows, int64_t width, bool relu,
                 T* out);
  /// Computes out[at[r]] += in[r]. Rows of out are `step` numbers apart.
  void (*scatter)(const T* in, int64_t rows, int64_t width, const int32_t* at, int64_t step, T* out);
  /// Adds the sum of the rows to `sum`.
  void (*add_columns)(const T* in, int64_t rows, int64_t width, T* sum);
  /// Computes gradient = value <= 0 ? 0 : gradient, and adds its rows to `sum`.
  void (*mask)(T* gradient, const T* value, int64_t rows, int64_t width, T* sum);
  /// Computes value[r] = value[r] <= 0 ? 0 : from[at[r]], and adds its rows to `sum`.
  void (*mask_rows)(const T* from, const int32_t* at, T* value, int64_t rows, int64_t width, T* sum);
  /// Masks gradient as mask() does, and adds its rows to a[at_a[r]] and to b[at_b[r]]. Rows of b are `step`
  /// numbers apart.
  void (*mask_and_scatter)(T* gradient, const T* value, int64_t rows, int64_t width, T* a,
                           const int32_t* at_a, T* b, const int32_t* at_b, int64_t step);
};

template <typename T>
const PathKernels<T>& path_kernels(Level level);

}  // namespace plimsoll
