#include "kernels/logit_losses/logit_losses.h"

#include "kernels/levels.h"

namespace plimsoll {

PLIMSOLL_DECLARE_LEVELS(logit_losses_f32, LogitLosses<float>)
PLIMSOLL_DECLARE_LEVELS(logit_losses_f64, LogitLosses<double>)

template <>
const LogitLosses<float>& logit_losses(Level level) {
  return PLIMSOLL_AT_LEVEL(level, logit_losses_f32);
}

template <>
const LogitLosses<double>& logit_losses(Level level) {
  return PLIMSOLL_AT_LEVEL(level, logit_losses_f64);
}

}  // namespace plimsoll
