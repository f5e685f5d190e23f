#include "kernels/logit_losses_rows.h"

namespace plimsoll {

extern const LogitLosses<float> logit_losses_avx2_f32 = make_logit_losses<float, 32>();
extern const LogitLosses<double> logit_losses_avx2_f64 = make_logit_losses<double, 32>();

}  // namespace plimsoll
