#pragma once

#include <cstdint>

#include "kernels/level.h"

namespace plimsoll {

/// Losses of rows of logits and their gradients, for heads whose logits exist a tile at a time. A logit is
/// logits[r * classes + c] + bias[c]. Rows in order, columns in vectors: the same bits at one level. T is
/// float or double; classes are below `classes`. Thread-safe.
template <typename T>
struct LogitLosses {
  /// losses[r] = log of the sum over c of exp(logit) less the logit of target[r]: softmax cross-entropy.
  void (*cross_entropy)(const T* logits, const T* bias, int64_t rows, int64_t classes, const int64_t* target,
                        T* losses);
  /// Overwrites logits with their gradients, where row r's loss has the gradient grad[r], and adds them to
  /// dbias [classes]. Where grad is null each loss has the gradient 1, and losses are written, too.
  void (*cross_entropy_backward)(T* logits, const T* bias, int64_t rows, int64_t classes,
                                 const int64_t* target, const T* grad, T* dbias, T* losses);

  /// losses[r] = mean over c of the binary cross-entropy of the logit against whether c is among ids[ptr[r]]
  /// .. ids[ptr[r+1]-1], in which none comes twice: the sum of log(1 + exp(logit)) less that of listed
  /// logits.
  void (*multilabel_bce)(const T* logits, const T* bias, int64_t rows, int64_t classes, const int64_t* ptr,
                         const int64_t* ids, T* losses);
  void (*multilabel_bce_backward)(T* logits, const T* bias, int64_t rows, int64_t classes, const int64_t* ptr,
                                  const int64_t* ids, const T* grad, T* dbias, T* losses);
};

template <typename T>
const LogitLosses<T>& logit_losses(Level level);

}  // namespace plimsoll
