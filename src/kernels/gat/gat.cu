#include "kernels/gat/gat_steps.h"

#include "kernels/cuda_instances.h"
#include "kernels/cuda_warp.h"

namespace plimsoll {

template <typename T>
void gat_scores_cuda(const T* z, const GatScores<T>& scores, int64_t heads, int64_t channels, int64_t nodes,
                     T* s, T* t, void* stream) {
  run_gat_scores(z, scores, heads, channels, nodes, s, t, CudaLaunch(stream));
}

template <typename T>
void gat_forward_cuda(const Gat<T>& layer, T* workspace, void* stream) {
  run_gat_forward(layer, workspace, CudaLaunch(stream));
}

template <typename T>
void gat_backward_cuda(const Gat<T>& layer, const GatGradients<T>& gradients, const GatScores<T>& scores,
                       const OutEdges& edges, T* workspace, void* stream) {
  run_gat_backward(layer, gradients, scores, edges, workspace, CudaLaunch(stream));
}

PLIMSOLL_GAT_CUDA(float)
PLIMSOLL_GAT_CUDA(double)

}  // namespace plimsoll
