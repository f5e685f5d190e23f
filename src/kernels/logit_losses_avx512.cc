#include "kernels/logit_losses_rows.h"

namespace plimsoll {

extern const LogitLosses<float> logit_losses_avx512_f32 = make_logit_losses<float, 64>();
extern const LogitLosses<double> logit_losses_avx512_f64 = make_logit_losses<double, 64>();

}  // namespace plimsoll
