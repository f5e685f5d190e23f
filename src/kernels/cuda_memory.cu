#include <string>

#include "base/error.h"
#include "kernels/cuda.h"

namespace plimsoll {
namespace {

void require(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw Failure(std::string(what) + ": " + cudaGetErrorString(error));
}

}  // namespace

void* cuda_allocate(int64_t bytes) {
  void* memory = nullptr;
  require(cudaMalloc(&memory, static_cast<size_t>(bytes)), "no memory on the CUDA device");
  return memory;
}

void cuda_free(void* memory) {
  cudaFree(memory);
}

void cuda_copy(void* to, const void* from, int64_t bytes) {
  require(cudaMemcpy(to, from, static_cast<size_t>(bytes), cudaMemcpyDefault), "copy on the CUDA device");
}

}  // namespace plimsoll
