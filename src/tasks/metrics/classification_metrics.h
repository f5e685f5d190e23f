#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace plimsoll {

/// How well logits [items, classes] predict the labels [items] in 0 .. classes-1, with the definitions of
/// scikit-learn. A figure that needs a class that is absent is undefined, not zero.
struct ClassificationFigures {
  int64_t items = 0;
  std::optional<double> accuracy;
  /// With two classes that of class 1; with more the mean over the classes that occur (macro).
  std::optional<double> f1;
  /// With two classes that of class 1; with more the mean of each against the rest (macro).
  std::optional<double> auc;
  std::vector<int64_t> confusion;  ///< [classes, classes]: row is the label, column the highest logit. Empty
                                   ///< with more than 64 classes.
};

/// Maximum bytes that classification_figures() takes from the ledger.
int64_t classification_figures_bytes(int64_t items, int64_t classes);

ClassificationFigures classification_figures(std::span<const float> logits, std::span<const int64_t> labels,
                                             int64_t classes);

}  // namespace plimsoll
