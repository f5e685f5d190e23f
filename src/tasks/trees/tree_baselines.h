#pragma once

#include <span>

#include "memory/vector.h"
#include "sample/block/batches.h"

namespace plimsoll {

/// Predicts the classes of trees without a network, from the training trees of a run. Thread-safe after its
/// construction.
class TreeBaselines {
 public:
  /// `training` are trees with a class in 0 .. classes-1, at least one. `source`, which must outlive this
  /// object, must have coordinates, and parents must have lower numbers than their children (ForestSource).
  /// Reads one tree at a time. Errors: those of source.read(); BudgetExceeded.
  TreeBaselines(const BlockSource& source, std::span<const GraphShape> shapes, const GraphList& training,
                int64_t classes);

  using Logits = Vector<float, Tag::columns>;
  /// Returns [graphs, classes]: logarithms of the number of training trees of each class, plus 0.001 so that
  /// they are finite.
  Logits most_frequent(const GraphList& graphs) const;
  /// Returns [graphs, classes]: logarithms of the class shares among the 5 training trees that are nearest in
  /// the numbers of nodes, ends and branch points, and in length, extent and depth. Distances are between
  /// logarithms, in standard deviations. Errors: those of source.read(); BudgetExceeded.
  Logits nearest_in_shape(const GraphList& graphs) const;

 private:
  const BlockSource& source_;
  Vector<double, Tag::columns> shapes_;  // [training, kMeasures], standardised.
  Vector<int64_t, Tag::columns> labels_;
  Vector<double, Tag::columns> mean_, deviation_;  // [kMeasures].
  int64_t classes_;
};

}  // namespace plimsoll
