#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace plimsoll {

/// Counts of predictions of two classes by true class; a label that is 1 is positive. A metric
/// is undefined, not zero, if it needs an absent class.
struct ConfusionCounts {
  int64_t true_positives = 0;
  int64_t false_positives = 0;
  int64_t true_negatives = 0;
  int64_t false_negatives = 0;

  /// Counts one item.
  void add(bool truth, bool predicted);
  std::optional<double> precision() const;  ///< Undefined without positives, or if none was predicted.
  std::optional<double> recall() const;     ///< Undefined without positives.
  std::optional<double> false_positive_rate() const;  ///< Undefined without negatives.
  std::optional<double> f1() const;                   ///< Undefined without positives.
  /// Mean of recall and specificity; undefined unless both classes occur.
  std::optional<double> balanced_accuracy() const;
  /// Correlation of predictions and truth (Matthews 1975); undefined unless both classes occur, 0 if all
  /// predictions are the same.
  std::optional<double> mcc() const;
};

/// Returns the area under the ROC curve, where ties count half (Mann & Whitney 1947); undefined if a class is
/// absent or a score is NaN. `truth` holds 0 and 1 and is as long as `scores`. Needs Ranking::kBytesPerScore
/// bytes per score. Errors: BudgetExceeded.
std::optional<double> roc_auc(std::span<const float> scores, std::span<const uint8_t> truth);

}  // namespace plimsoll
