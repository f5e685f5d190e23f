#pragma once

#include <span>
#include <vector>

namespace plimsoll {

/// A level above which a score is an attack, and the rate of benign validation windows above it.
struct Threshold {
  double target_rate = 0;  ///< 0 if no rate set the level, as for a rule without scores.
  double realised_rate = 0;
  float level = 0;
};

/// The lowest threshold at which at most floor(rate x n) of the n benign scores are above it: a score is
/// predicted as an attack if it is greater. Errors: InputError if there is no score.
float threshold_at_rate(std::span<const float> benign_scores, double rate);

/// Thresholds at which 1 % and 0.1 % of these scores of benign validation windows may be above. Errors:
/// InputError if there is no score.
std::vector<Threshold> thresholds_from(std::span<const float> benign_scores);

}  // namespace plimsoll
