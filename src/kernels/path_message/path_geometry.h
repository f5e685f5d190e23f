#pragma once

#include "kernels/path_message/path_tiles.h"

namespace plimsoll {

/// Lengths and angles of the paths of a tile, computed in float64. Arrays have the tile's capacity; a and v
/// are [capacity, 3]. angle, v and the arrays of torsions are null if only distances are used.
template <typename T>
struct PathGeometry {
  T* edge_distance = nullptr;  ///< |a|, a = r_j - r_i.
  double* edge_a = nullptr;
  T* triple_distance = nullptr;  ///< |b|, b = r_k - r_j.
  T* triple_angle = nullptr;     ///< Angle between b and a.
  double* triple_v = nullptr;    ///< a x b.
  T* path_distance = nullptr;    ///< |c|, c = r_p - r_j.
  T* path_angle = nullptr;       ///< Angle between c and a.
  /// Torsion between c and b about a; if the basis is periodic, the sine of half the torsion.
  T* path_torsion = nullptr;
  T* path_cosine = nullptr;  ///< 1; if the basis is periodic, the cosine of half the torsion.
};

/// Computes the lengths and angles of a tile; pos is [slots, 3]. An angle to a vector of length 0 is 0. A
/// torsion is 0 if two of its points coincide. T is float or double. Thread-safe; all levels (level.h) give
/// the same bits.
template <typename T>
void measure_paths(const PathTile& tile, const T* pos, bool periodic, const PathGeometry<T>& to);

}  // namespace plimsoll
