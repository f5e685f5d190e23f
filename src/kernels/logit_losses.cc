#include "kernels/logit_losses.h"

namespace plimsoll {

// One file a level.
extern const LogitLosses<float> logit_losses_portable_f32;
extern const LogitLosses<double> logit_losses_portable_f64;
extern const LogitLosses<float> logit_losses_avx2_f32;
extern const LogitLosses<double> logit_losses_avx2_f64;
extern const LogitLosses<float> logit_losses_avx512_f32;
extern const LogitLosses<double> logit_losses_avx512_f64;

template <>
const LogitLosses<float>& logit_losses(Level level) {
  if (level == Level::avx512) return logit_losses_avx512_f32;
  return level == Level::avx2 ? logit_losses_avx2_f32 : logit_losses_portable_f32;
}

template <>
const LogitLosses<double>& logit_losses(Level level) {
  if (level == Level::avx512) return logit_losses_avx512_f64;
  return level == Level::avx2 ? logit_losses_avx2_f64 : logit_losses_portable_f64;
}

}  // namespace plimsoll
