#include "kernels/logit_losses_rows.h"

namespace plimsoll {

extern const LogitLosses<float> logit_losses_portable_f32 = make_logit_losses<float, 16>();
extern const LogitLosses<double> logit_losses_portable_f64 = make_logit_losses<double, 16>();

}  // namespace plimsoll
