#pragma once

#include "config/checks.h"

namespace plimsoll {

/// How node features are transformed.
struct FeaturesSection {
  /// Subtract the mean of each node feature over the training split, and divide by its standard deviation.
  bool standardize = false;
};

template <EitherOf<FeaturesSection> Section, typename Visit>
void visit_keys(Section& features, Visit&& visit) {
  visit("standardize", features.standardize, Flag{});
}

}  // namespace plimsoll
