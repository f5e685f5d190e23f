#pragma once

#include <cstdint>

namespace plimsoll {

// The kernels on a CUDA device: the contracts of their namesakes, the same bits, with pointers to device
// memory and work put on `stream` (a cudaStream_t). A build without CUDA has these functions too; they say
// how to get them. Errors: Failure with CUDA's own text. Attention and segments: attention_cuda.h,
// segment_cuda.h.

/// Devices that can be used; 0 in a build without CUDA or on a machine without one.
int cuda_devices();

/// Memory of the current device for programs without torch, which has its own: the caller frees it. Copies go
/// either way and wait for all work of the device.
void* cuda_allocate(int64_t bytes);
void cuda_free(void* memory);
void cuda_copy(void* to, const void* from, int64_t bytes);

/// kernels/dropout.h.
void relu_dropout_cuda(uint64_t seed, uint32_t layer, uint32_t epoch, double p, int64_t rows,
                       int64_t channels, const int64_t* item, const int64_t* local, const float* x,
                       float* out, void* stream);
void relu_dropout_backward_cuda(double p, int64_t count, const float* grad, const float* out, float* dx,
                                void* stream);

/// ops/normal_noise.h; logarithms and angles may differ from the host's in their last bit.
void normal_noise_cuda(uint64_t seed, uint32_t epoch, int64_t rows, int64_t channels, const int64_t* item,
                       const int64_t* local, float* noise, void* stream);

}  // namespace plimsoll
