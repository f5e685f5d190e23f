#pragma once

#include <cstdint>

#include "config/checks.h"

namespace plimsoll {

/// Options of tree_classification: how the classes are learned, both from pretrained weights and from
/// scratch.
struct FineTuningSection {
  int64_t max_epochs = 100;
  double learning_rate = 3e-4;
};

template <EitherOf<FineTuningSection> Section, typename Visit>
void visit_keys(Section& fine_tuning, Visit&& visit) {
  visit("max_epochs", fine_tuning.max_epochs, Range{1, 1e6});
  visit("learning_rate", fine_tuning.learning_rate, Range{0, 1e3});
}

}  // namespace plimsoll
