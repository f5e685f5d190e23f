#pragma once

#include "kernels/path_message.h"
#include "kernels/path_tiles.h"

namespace plimsoll {

// Paths of path_tiles.h on a CUDA device, f32 and f64, everything in device memory. Stream, errors and builds
// without CUDA are as in attention_cuda.h.

/// The paths of a graph by number, from 0 on, in the order of i, j, k and p.
struct PathNumbers {
  PathGraph graph;
  /// [row_begin[nodes] + 1] how many paths are in front of those of each edge i -> j, but for (i, i, i, i).
  const int64_t* before = nullptr;
};

/// Paths first .. first + rows - 1, and the Gaussians of their edges (0), triples (1) and paths (2).
template <typename T>
struct FoundPaths {
  PathNumbers numbers;
  int64_t first = 0, rows = 0;
  const T* pos = nullptr;  ///< [nodes, 3]
  PathBasis<T> basis;
  bool periodic = false;
  int32_t* node[4] = {};  ///< [rows] each: i, j, k and p
  T* gaussians[3] = {};   ///< row-major: [rows, distances], with angles, and with torsions
};

/// How many paths each of `edges` edges has, of which those after row_begin[nodes] have none.
void count_edge_paths_cuda(const PathGraph& graph, int64_t edges, int64_t* counts, void* stream);

/// `step` apart stand the rows of `table`: of a node the numbers for its four places, `width` each. Of each
/// path their sum.
template <typename T>
struct GatheredRows {
  const T* table = nullptr;
  int64_t width = 0;
  const int32_t* node[4] = {};
  T* out = nullptr;  ///< [rows, width]
};

/// out[at[r]] += in[order[r]] for rows r in their order, in which `at` never falls; without `order` in[r].
/// Rows of out are `step` apart.
template <typename T>
struct ScatteredRows {
  const T* in = nullptr;
  int64_t rows = 0, width = 0;
  const int32_t* at = nullptr;
  const int64_t* order = nullptr;
  T* out = nullptr;
  int64_t step = 0;
};

template <typename T>
void find_paths_cuda(const FoundPaths<T>& paths, void* stream);
template <typename T>
void gather_rows_cuda(const GatheredRows<T>& rows, int64_t count, void* stream);
template <typename T>
void scatter_rows_cuda(const ScatteredRows<T>& rows, void* stream);

}  // namespace plimsoll
