#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace plimsoll {

/// How well logits [items, labels] predict labels [items, labels] that are 1, 0, or NaN if unknown, with the
/// definitions of scikit-learn over the known labels. A label is predicted if its logit is above 0.
struct LabelFigures {
  int64_t items = 0;                ///< Number of items, also of those without a known label.
  std::optional<double> micro_f1;   ///< F1 over all labels of all items; undefined if none is 1 or predicted.
  std::optional<double> macro_auc;  ///< Mean of the AUC of each label that has both values.
};

/// Computes the metrics for items with `width` labels each. Errors: BudgetExceeded.
LabelFigures label_figures(std::span<const float> logits, std::span<const float> labels, int64_t width);

/// Mean over items of the mean over labels of the binary cross-entropy, in double precision. An unknown label
/// counts with loss 0 (nn/multi_label.h).
double mean_label_loss(std::span<const float> logits, std::span<const float> labels);

}  // namespace plimsoll
