#include "ops/blas_memory.h"

// torch has MKL inside, without its headers; another BLAS does not have this.
extern "C" __attribute__((weak)) long long mkl_serv_mem_stat(int* buffers);

namespace plimsoll {

std::optional<int64_t> blas_bytes() {
  if (&mkl_serv_mem_stat == nullptr) return std::nullopt;
  int buffers = 0;
  return mkl_serv_mem_stat(&buffers);
}

}  // namespace plimsoll
