#include "can/detector/rate_bound.h"

#include <cmath>

namespace plimsoll {
namespace {

// Sums downwards from the likeliest number of events, which is `events` because the rate is above events /
// trials.
double probability_of_at_most(int64_t events, int64_t trials, double rate) {
  const auto n = static_cast<double>(trials);
  const auto k = static_cast<double>(events);
  double term = std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) +
                         k * std::log(rate) + (n - k) * std::log1p(-rate));
  double sum = 0;
  for (int64_t i = events; term > sum * 1e-17; --i) {
    sum += term;
    term *= static_cast<double>(i) / static_cast<double>(trials - i + 1) * (1 - rate) / rate;
  }
  return sum;
}

}  // namespace

double rate_bound(int64_t events, int64_t trials) {
  if (events >= trials) return 1;
  double min = static_cast<double>(events) / static_cast<double>(trials);
  double max = 1;
  for (int step = 0; step < 60; ++step) {
    const double middle = (min + max) / 2;
    (probability_of_at_most(events, trials, middle) > 0.05 ? min : max) = middle;
  }
  return max;
}

}  // namespace plimsoll
