#include "kernels/cuda_warp.h"
#include "kernels/place_rows/place_rows_steps.h"

namespace plimsoll {

void place_rows_cuda(const PlacedRows& rows, void* stream) {
  run_place_rows(rows, CudaLaunch(stream));
}

}  // namespace plimsoll
