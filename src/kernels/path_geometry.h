#pragma once

#include "kernels/path_tiles.h"

namespace plimsoll {

/// Lengths and angles of what a tile has, measured in float64. Arrays of the tile's capacity; a and v are
/// [capacity, 3]. angle, v and what is of torsions is null where there are distances alone.
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

/// Lengths and angles of a tile; pos [slots, 3]. Angles to what has no length are 0, as are
/// torsions where two points coincide. T is float or double. Thread-safe; the same bits at all levels
/// (level.h).
template <typename T>
void measure_paths(const PathTile& tile, const T* pos, bool periodic, const PathGeometry<T>& to);

}  // namespace plimsoll
