#pragma once

#include <cstdint>

namespace plimsoll {

/// The factor by which a loss is multiplied if its backward pass computes in float16, where small gradients
/// would become zero (Micikevicius et al., "Mixed precision training", ICLR 2018). It is chosen like
/// torch.amp.GradScaler: halved after a step whose gradient is not finite, which is skipped, and doubled
/// after kGoodSteps finite steps in a row. It is a power of two, so that scaling rounds nothing.
struct LossScale {
  static constexpr double kFirst = 65536;
  static constexpr int64_t kGoodSteps = 2000;

  double factor = 0;       ///< 0 means that losses are not scaled.
  int64_t good_steps = 0;  ///< Number of finite steps since the factor last changed.

  bool on() const { return factor > 0; }
  /// Call it after each backward pass. Returns whether the step may update the parameters.
  bool take(bool finite) {
    if (!finite) {
      factor /= 2;
      good_steps = 0;
    } else if (++good_steps == kGoodSteps) {
      factor *= 2;
      good_steps = 0;
    }
    return finite;
  }
};

}  // namespace plimsoll
