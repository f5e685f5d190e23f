#pragma once

#include <span>
#include <vector>

namespace plimsoll {

/// A level above which a score counts as an attack, and the share of benign validation windows above it.
struct Threshold {
  double target_rate = 0;  ///< Rate for which the level was chosen; 0 if it was not chosen for a rate, as for
                           ///< a rule without scores.
  double realised_rate = 0;
  float level = 0;
};

/// Returns the lowest threshold at which at most floor(rate x n) of the n benign scores are above it: a score
/// above the threshold counts as an attack. `rate` is in 0 .. 1, and no score may be NaN. Errors: InputError
/// if there is no score.
float threshold_at_rate(std::span<const float> benign_scores, double rate);

/// Returns the thresholds that at most 1 % and 0.1 % of these scores of benign validation windows exceed.
/// Errors: InputError if there is no score.
std::vector<Threshold> thresholds_from(std::span<const float> benign_scores);

}  // namespace plimsoll
