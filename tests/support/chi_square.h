#pragma once

#include <cmath>
#include <cstdint>
#include <span>

namespace plimsoll {

/// Returns how many standard deviations Pearson's statistic of the counts is above its mean, assuming that
/// they were drawn with the probabilities `expected / sum`. A result above 5 means that they were not. After
/// Wilson and Hilferty's cube root, PNAS 17, 1931.
inline double chi_square_deviations(std::span<const int64_t> counts, std::span<const double> expected) {
  double statistic = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const double difference = static_cast<double>(counts[i]) - expected[i];
    statistic += difference * difference / expected[i];
  }
  const double degrees = static_cast<double>(counts.size()) - 1;
  const double spread = 2 / (9 * degrees);
  return (std::cbrt(statistic / degrees) - (1 - spread)) / std::sqrt(spread);
}

}  // namespace plimsoll
