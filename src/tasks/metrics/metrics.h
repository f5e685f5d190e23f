#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace plimsoll {

/// Counts of predictions by true class. A metric that needs an absent class is undefined, not zero.
struct ConfusionCounts {
  int64_t true_positives = 0;
  int64_t false_positives = 0;
  int64_t true_negatives = 0;
  int64_t false_negatives = 0;

  void add(bool truth, bool verdict);
  std::optional<double> precision() const;  ///< Undefined without attacks, or if none was predicted.
  std::optional<double> recall() const;     ///< Undefined without attacks.
  std::optional<double> false_positive_rate() const;  ///< Undefined without benign graphs.
  std::optional<double> f1() const;                   ///< Undefined without attacks.
  /// Mean of recall and specificity; undefined unless both classes occur.
  std::optional<double> balanced_accuracy() const;
  /// Correlation of predictions and truth (Matthews 1975); undefined unless both classes occur, 0 if all
  /// predictions are the same.
  std::optional<double> mcc() const;
};

/// Returns the area under the ROC curve, where ties count half (Mann & Whitney 1947); undefined if a class is
/// absent. `truth` holds 0 and 1 and is as long as `scores`.
std::optional<double> roc_auc(std::span<const float> scores, std::span<const uint8_t> truth);

}  // namespace plimsoll
