#pragma once

#include <cstdint>

namespace plimsoll {

/// A tile of logits in device memory, [rows, classes], without their bias; a logit is logits[r * classes + c]
/// + bias[c].
template <typename T>
struct LogitTile {
  T* logits;
  const T* bias;  ///< [classes]
  int64_t rows;
  int64_t classes;
  T* losses;       ///< [rows], written
  bool gradients;  ///< whether logits become their gradients
  const T* grad;   ///< [rows] of the losses; null: 1 each
};

// The losses of logit_losses.h on a CUDA device, a tile in one call, f32 and f64. Stream, order of sums,
// errors and builds without CUDA are as in attention_cuda.h; nothing is taken of the device. A target or
// id that is no class makes the row's loss no number, and nothing else.

template <typename T>
void cross_entropy_cuda(const LogitTile<T>& tile, const int64_t* target, void* stream);
/// Of row r: ids[ptr[r]] .. ids[ptr[r+1]-1], in which none comes twice.
template <typename T>
void multilabel_bce_cuda(const LogitTile<T>& tile, const int64_t* ptr, const int64_t* ids, void* stream);

}  // namespace plimsoll
