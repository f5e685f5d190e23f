#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace plimsoll {

/// Metrics of how well logits [items, classes] predict the labels [items] in 0 .. classes-1, with the
/// definitions of scikit-learn. A metric that needs a class that is absent is undefined, not zero. If several
/// classes have the highest logit, the first is predicted.
struct ClassificationFigures {
  int64_t items = 0;
  std::optional<double> accuracy;
  /// With two classes, the F1 of class 1; with more, the mean over the classes that occur as a label or as a
  /// prediction (macro).
  std::optional<double> f1;
  /// With two classes, the AUC of class 1; with more, the mean over the classes of the AUC of a class against
  /// all others (macro). Undefined if a logit is NaN.
  std::optional<double> auc;
  std::vector<int64_t> confusion;  ///< [classes, classes]: the row is the label, the column is the class with
                                   ///< the highest logit. Empty with more than 64 classes.
};

/// Returns the maximum bytes that classification_figures() enters in the ledger.
int64_t classification_figures_bytes(int64_t items, int64_t classes);

/// Computes the metrics. The labels are not checked. Errors: BudgetExceeded.
ClassificationFigures classification_figures(std::span<const float> logits, std::span<const int64_t> labels,
                                             int64_t classes);

}  // namespace plimsoll
