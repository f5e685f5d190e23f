#pragma once

#include <cstdint>

namespace plimsoll {

/// The highest rate of events at which as few as `events` in `trials` still happen with a probability of 5 %:
/// the one-sided bound of Clopper and Pearson (Biometrika 26, 1934). It is below the true rate in one of
/// twenty samples at most, if trials are independent. A level that is the greatest of as many trials is
/// exceeded as rarely (Wilks, Annals of Mathematical Statistics 12, 1941). `events` from 0 to `trials`.
double rate_bound(int64_t events, int64_t trials);

}  // namespace plimsoll
