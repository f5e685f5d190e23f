#pragma once

#include <cstdint>

#include "kernels/level.h"

namespace plimsoll {

/// Losses of rows of logits and their gradients, for heads whose logits exist one tile at a time. A logit is
/// logits[r * classes + c] + bias[c]. Rows are processed in order and columns in vectors, so one level always
/// gives the same bits. T is float or double. Targets and ids must be below `classes`. Thread-safe.
template <typename T>
struct LogitLosses {
  /// Softmax cross-entropy: losses[r] = log of the sum over c of exp(logit), minus the logit of target[r].
  void (*cross_entropy)(const T* logits, const T* bias, int64_t rows, int64_t classes, const int64_t* target,
                        T* losses);
  /// Overwrites logits with their gradients, for losses with gradients grad, and adds the gradients of bias
  /// to dbias [classes]. If grad is null, each loss has the gradient 1, and losses are written as well.
  void (*cross_entropy_backward)(T* logits, const T* bias, int64_t rows, int64_t classes,
                                 const int64_t* target, const T* grad, T* dbias, T* losses);

  /// losses[r] = mean over c of the binary cross-entropy of the logit against whether c is among ids[ptr[r]]
  /// .. ids[ptr[r+1]-1], which must be distinct: the sum of log(1 + exp(logit)) minus that of listed logits.
  void (*multilabel_bce)(const T* logits, const T* bias, int64_t rows, int64_t classes, const int64_t* ptr,
                         const int64_t* ids, T* losses);
  void (*multilabel_bce_backward)(T* logits, const T* bias, int64_t rows, int64_t classes, const int64_t* ptr,
                                  const int64_t* ids, const T* grad, T* dbias, T* losses);
};

template <typename T>
const LogitLosses<T>& logit_losses(Level level);

}  // namespace plimsoll
