#include "kernels/cuda_instances.h"
#include "kernels/cuda_warp.h"
#include "kernels/path_message/path_message_gpu.h"
#include "kernels/path_message/path_message_steps.h"

namespace plimsoll {

void count_edge_paths_cuda(const PathGraph& graph, int64_t edges, int64_t* counts, void* stream) {
  CudaLaunch launch(stream);
  launch(edges, CountEdgePaths{graph, counts});
}

template <typename T>
void find_paths_cuda(const FoundPaths<T>& paths, void* stream) {
  CudaLaunch launch(stream);
  launch(paths.rows, FindPaths<T>{paths});
}

template <typename T>
void gather_rows_cuda(const GatheredRows<T>& rows, int64_t count, void* stream) {
  CudaLaunch launch(stream);
  launch(count, GatherRows<T>{rows});
}

template <typename T>
void scatter_rows_cuda(const ScatteredRows<T>& rows, void* stream) {
  const ScatterRows<T> step{rows};
  CudaLaunch launch(stream);
  launch(rows.rows * step.blocks(), step);
}

PLIMSOLL_PATHS_CUDA(float)
PLIMSOLL_PATHS_CUDA(double)

}  // namespace plimsoll
