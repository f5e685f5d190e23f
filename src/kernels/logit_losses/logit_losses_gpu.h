#pragma once

#include <cstdint>

namespace plimsoll {

/// A tile of logits in device memory, [rows, classes], without bias. A logit is logits[r * classes + c] +
/// bias[c].
template <typename T>
struct LogitTile {
  T* logits;
  const T* bias;  ///< [classes].
  int64_t rows;
  int64_t classes;
  T* losses;       ///< [rows], written.
  bool gradients;  ///< Whether logits are overwritten with their gradients.
  const T* grad;   ///< [rows], gradients of the losses; null: each is 1.
};

// The losses of logit_losses.h on a CUDA device, one tile per call, in f32 or f64. attention_gpu.h describes
// the stream, the order of sums, errors, and builds without CUDA. No memory is allocated. A target or id that
// is not a class makes the loss of its row NaN and has no other effect.

template <typename T>
void cross_entropy_cuda(const LogitTile<T>& tile, const int64_t* target, void* stream);
/// The classes of row r are ids[ptr[r]] .. ids[ptr[r+1]-1], which must be distinct.
template <typename T>
void multilabel_bce_cuda(const LogitTile<T>& tile, const int64_t* ptr, const int64_t* ids, void* stream);

}  // namespace plimsoll
