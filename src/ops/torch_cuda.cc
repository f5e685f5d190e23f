#include "ops/torch_cuda.h"

#include <ATen/Context.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>

#include <functional>
#include <memory>

#include "base/error.h"
#include "base/shared_library.h"

struct CUstream_st;  // A CUDA stream. The type's name is part of the mangled names of torch's functions.

namespace plimsoll {
namespace {

// The functions of torch/csrc/cuda/CUDAPluggableAllocator.h, whose header needs CUDA's own. Their mangled
// names contain the types, so functions with other types would not be found.
using Take = std::function<void*(size_t, int, CUstream_st*)>;
using Give = std::function<void(void*, size_t, int, CUstream_st*)>;
using Allocator = std::shared_ptr<void>;
constexpr const char* kCreateAllocator =
    "_ZN5torch4cuda22CUDAPluggableAllocator21createCustomAllocatorESt8functionIFPvmiP11CUstream_stEES2_"
    "IFvS3_miS5_EE";
constexpr const char* kChangeAllocator =
    "_ZN5torch4cuda22CUDAPluggableAllocator22changeCurrentAllocatorERKSt10shared_ptrIN3c104cuda"
    "20CUDACachingAllocator13CUDAAllocatorEE";

SharedLibrary torch_cuda() {
  return {"libtorch_cuda.so", "--device cuda needs a torch with CUDA; run: pip install torch"};
}

}  // namespace

c10::Device load_torch_cuda(int index, const std::shared_ptr<DeviceTensors>& tensors) {
  const SharedLibrary library = [] {
    try {
      return torch_cuda();
    } catch (const Failure& error) {
      throw UsageError(error.what());
    }
  }();
  const auto create = library.function<Allocator (*)(Take, Give)>(kCreateAllocator);
  const auto change = library.function<void (*)(const Allocator&)>(kChangeAllocator);
  tensors->wait_between_streams([index] {
    const c10::impl::VirtualGuardImpl cuda(c10::DeviceType::CUDA);
    cuda.synchronizeDevice(static_cast<c10::DeviceIndex>(index));
  });
  change(create(
      [tensors, index](size_t bytes, int asked_index, CUstream_st* stream) {
        if (asked_index != index)
          throw UsageError(fmt::format(
              "found a tensor on cuda:{}, but this process may use only cuda:{}, which has the budget",
              asked_index, index));
        return tensors->take(static_cast<int64_t>(bytes), stream);
      },
      [tensors](void* data, size_t bytes, int, CUstream_st* stream) {
        tensors->give(data, static_cast<int64_t>(bytes), stream);
      }));
  // CUBLAS_WORKSPACE_CONFIG is not changed. Torch gives each handle and stream of cuBLAS a separate
  // workspace, so that results repeat to the bit, and it would parse a changed variable again in each
  // product.
  at::Context& torch = at::globalContext();
  torch.lazyInitDevice(c10::DeviceType::CUDA);
  torch.setDeterministicAlgorithms(true, /*warn_only=*/false);
  torch.setDeterministicFillUninitializedMemory(false);
  // Lanes share parameters, and each parameter has one such stream.
  torch.setWarnOnAccumulateGradStreamMismatch(false);
  return {c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(index)};
}

void clear_cublas_workspaces() {
  torch_cuda().function<void (*)()>("_ZN2at4cuda21clearCublasWorkspacesEv")();
}

}  // namespace plimsoll
