#include "kernels/cuda_instances.h"
#include "kernels/cuda_warp.h"
#include "kernels/logit_losses/logit_losses_steps.h"

namespace plimsoll {

template <typename T>
void cross_entropy_cuda(const LogitTile<T>& tile, const int64_t* target, void* stream) {
  CudaLaunch launch(stream);
  launch(tile.rows, CrossEntropyRow<T>{tile, target});
}

template <typename T>
void multilabel_bce_cuda(const LogitTile<T>& tile, const int64_t* ptr, const int64_t* ids, void* stream) {
  CudaLaunch launch(stream);
  launch(tile.rows, MultilabelBceRow<T>{tile, ptr, ids});
}

PLIMSOLL_LOGIT_LOSSES_CUDA(float)
PLIMSOLL_LOGIT_LOSSES_CUDA(double)

}  // namespace plimsoll
