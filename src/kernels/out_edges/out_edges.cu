#include "kernels/cuda_warp.h"
#include "kernels/out_edges/out_edges_steps.h"

namespace plimsoll {

void out_edges_cuda(const EdgeOrder& order, int32_t* out_ptr, int32_t* position, int32_t* target,
                    int32_t* buffer, void* stream) {
  run_out_edges(order, out_ptr, position, target, buffer, CudaLaunch(stream));
}

}  // namespace plimsoll
