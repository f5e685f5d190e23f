#include "kernels/aggregate/aggregate_gpu.h"
#include "kernels/aggregate/aggregate_steps.h"
#include "kernels/cuda_instances.h"
#include "kernels/cuda_warp.h"

namespace plimsoll {

template <typename T>
void aggregate_cuda(const AggregateInput<T>& in, int64_t rows, T* out, void* stream) {
  const AggregateOnDevice<T> step{in, out};
  CudaLaunch launch(stream);
  launch(rows * step.blocks(), step);
}

PLIMSOLL_AGGREGATE_CUDA(float)
PLIMSOLL_AGGREGATE_CUDA(double)

}  // namespace plimsoll
