#pragma once

#include <cstdint>

#include "kernels/level.h"

namespace plimsoll {

/// Losses of rows of logits, and the gradients of the losses, for heads that hold only one tile of logits at
/// a time. A logit is logits[r * classes + c] + bias[c]. Rows are processed in order and columns in vectors,
/// so one level always gives the same bits. T is float or double. There must be at least one class, and
/// targets and ids must be in 0 .. classes-1. Thread-safe.
template <typename T>
struct LogitLosses {
  /// Softmax cross-entropy: losses[r] = log of the sum over c of exp(logit), minus the logit of target[r].
  void (*cross_entropy)(const T* logits, const T* bias, int64_t rows, int64_t classes, const int64_t* target,
                        T* losses);
  /// Overwrites logits with their gradients, given the gradients `grad` of the losses, and adds the gradients
  /// of bias to dbias [classes]. If grad is null, each loss has the gradient 1, and losses are written as
  /// well.
  void (*cross_entropy_backward)(T* logits, const T* bias, int64_t rows, int64_t classes,
                                 const int64_t* target, const T* grad, T* dbias, T* losses);

  /// losses[r] = mean over c of the binary cross-entropy of the logit, with label 1 if c is among ids[ptr[r]]
  /// .. ids[ptr[r+1]-1], otherwise 0. This is the sum of log(1 + exp(logit)) minus the sum of the listed
  /// logits, divided by `classes`. The ids of a row must be distinct.
  void (*multilabel_bce)(const T* logits, const T* bias, int64_t rows, int64_t classes, const int64_t* ptr,
                         const int64_t* ids, T* losses);
  /// Does the same as cross_entropy_backward() for this loss.
  void (*multilabel_bce_backward)(T* logits, const T* bias, int64_t rows, int64_t classes, const int64_t* ptr,
                                  const int64_t* ids, const T* grad, T* dbias, T* losses);
};

template <typename T>
const LogitLosses<T>& logit_losses(Level level);

}  // namespace plimsoll
