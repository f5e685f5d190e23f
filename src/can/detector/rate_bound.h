#pragma once

#include <cstdint>

namespace plimsoll {

/// The highest rate of events at which `events` or fewer in `trials` still happen with a probability of 5 %:
/// the one-sided bound of Clopper and Pearson (Biometrika 26, 1934). If trials are independent, it is below
/// the true rate in at most one sample in twenty. With `events` 0 it also bounds how often the maximum of
/// `trials` values is exceeded later (Wilks, Annals of Mathematical Statistics 12, 1941). `events` is in 0 ..
/// `trials`.
double rate_bound(int64_t events, int64_t trials);

}  // namespace plimsoll
