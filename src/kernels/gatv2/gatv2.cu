#include "kernels/gatv2/gatv2_steps.h"

#include "kernels/cuda_instances.h"
#include "kernels/cuda_warp.h"

namespace plimsoll {

template <typename T>
void gatv2_forward_cuda(const Gatv2<T>& layer, T* workspace, void* stream) {
  run_gatv2_forward(layer, workspace, CudaLaunch(stream));
}

template <typename T>
void gatv2_backward_cuda(const Gatv2<T>& layer, const Gatv2Gradients<T>& gradients, const OutEdges& edges,
                         T* workspace, void* stream) {
  run_gatv2_backward(layer, gradients, edges, workspace, CudaLaunch(stream));
}

PLIMSOLL_GATV2_CUDA(float)
PLIMSOLL_GATV2_CUDA(double)

}  // namespace plimsoll
