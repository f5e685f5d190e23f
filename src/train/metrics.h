#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace plimsoll {

/// The least threshold at which at most floor(rate x n) of the n benign scores are above it: a score is
/// called an attack when it is greater. Errors: InputError when there is no score.
float threshold_at_rate(std::span<const float> benign_scores, double rate);

/// How verdicts compare with the truth. A figure that needs an absent class is undefined, not zero.
struct Verdicts {
  int64_t true_positives = 0;
  int64_t false_positives = 0;
  int64_t true_negatives = 0;
  int64_t false_negatives = 0;

  void add(bool truth, bool verdict);
  std::optional<double> precision() const;            ///< undefined when nothing was called an attack
  std::optional<double> recall() const;               ///< undefined without attacks
  std::optional<double> false_positive_rate() const;  ///< undefined without benign graphs
  std::optional<double> f1() const;                   ///< undefined without attacks
};

/// Area under the ROC curve, ties counted half (Mann & Whitney 1947); undefined when a class is absent.
/// `truth` holds 0 and 1 and is as long as `scores`.
std::optional<double> roc_auc(std::span<const float> scores, std::span<const uint8_t> truth);

}  // namespace plimsoll
