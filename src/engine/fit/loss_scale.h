#pragma once

#include <cstdint>

namespace plimsoll {

/// The factor of a loss whose backward pass computes in float16, in which small gradients would be zeros
/// (Micikevicius et al., "Mixed precision training", ICLR 2018). Found as torch.amp.GradScaler finds it: half
/// of it after a step whose gradient is not finite, and which is left out; twice of it after kGoodSteps steps
/// in a row. A power of two, so that scaling rounds nothing.
struct LossScale {
  static constexpr double kFirst = 65536;
  static constexpr int64_t kGoodSteps = 2000;

  double factor = 0;       ///< 0: losses are not scaled
  int64_t good_steps = 0;  ///< since it last changed

  bool on() const { return factor > 0; }
  /// After a step: whether it may move the parameters.
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
