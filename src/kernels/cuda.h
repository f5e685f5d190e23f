#pragma once

#include <cstdint>

namespace plimsoll {

// Kernels on a CUDA device that have the same contracts and, unless stated otherwise, give the same bits as
// the CPU functions of the same name. Pointers are to device memory, and work is put on `stream` (a
// cudaStream_t). In a build without CUDA, all functions except cuda_devices() and cuda_free() throw Failure,
// which says how to get a build with it. Errors: Failure with CUDA's own text. Attention and segments are in
// attention_gpu.h and segment_gpu.h.

/// Returns the number of usable devices; 0 in a build without CUDA or on a machine without a device.
int cuda_devices();

/// Memory and copies for programs without torch. cuda_allocate() allocates memory of the current device,
/// which the caller frees. cuda_free() ignores errors. Copies in either direction wait for all work of the
/// device.
void* cuda_allocate(int64_t bytes);
void cuda_free(void* memory);
void cuda_copy(void* to, const void* from, int64_t bytes);

/// The functions of kernels/dropout/dropout.h.
void relu_dropout_cuda(uint64_t seed, uint32_t layer, uint32_t epoch, double p, int64_t rows,
                       int64_t channels, const int64_t* item, const int64_t* local, const float* x,
                       float* out, void* stream);
void relu_dropout_backward_cuda(double p, int64_t count, const float* grad, const float* out, float* dx,
                                void* stream);

/// Does the same as normal_noise() of ops/normal_noise/normal_noise.h. Logarithms and angles may differ from
/// those of the host in the last bit.
void normal_noise_cuda(uint64_t seed, uint32_t epoch, int64_t rows, int64_t channels, const int64_t* item,
                       const int64_t* local, float* noise, void* stream);

}  // namespace plimsoll
