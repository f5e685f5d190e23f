#pragma once

#include "kernels/path_message/path_message.h"
#include "kernels/path_message/path_tiles.h"

namespace plimsoll {

// The paths of path_tiles.h on a CUDA device, in f32 or f64. All arrays are in device memory. attention_gpu.h
// describes the stream, errors, and builds without CUDA.

/// Numbers the paths of a graph from 0, in the order of i, j, k and p. The targets of each row of the graph
/// must be ascending, also for count_edge_paths_cuda().
struct PathNumbers {
  PathGraph graph;
  /// [row_begin[nodes] + 1] number of paths before those of each edge i -> j, then the number of all paths,
  /// not counting the paths (i, i, i, i).
  const int64_t* before = nullptr;
};

/// Paths first .. first + rows - 1, and the Gaussians of their edges (0), triples (1) and paths (2).
template <typename T>
struct FoundPaths {
  PathNumbers numbers;
  int64_t first = 0, rows = 0;
  const T* pos = nullptr;  ///< [nodes, 3].
  PathBasis<T> basis;
  bool periodic = false;
  int32_t* node[4] = {};  ///< [rows] each: i, j, k and p.
  T* gaussians[3] = {};   ///< Row-major: [rows, distances] for edges; rows of triples also have the angles,
                          ///< and rows of paths also the angles and torsions.
};

/// Counts the paths that begin with each of `edges` edges, without the paths (i, i, i, i). Edges from
/// row_begin[nodes] on have none.
void count_edge_paths_cuda(const PathGraph& graph, int64_t edges, int64_t* counts, void* stream);

/// Sums rows of `table` for each path. The row of a node has 4 * width numbers: `width` for each of the four
/// places at which the node can be in a path.
template <typename T>
struct GatheredRows {
  const T* table = nullptr;
  int64_t width = 0;
  const int32_t* node[4] = {};  ///< [count] each: i, j, k and p.
  T* out = nullptr;             ///< [count, width].
};

/// Computes out[at[r]] += in[order[r]] for rows r in order; in[r] if `order` is null. `at` must be ascending,
/// repeats allowed. Rows of out are `step` numbers apart.
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
