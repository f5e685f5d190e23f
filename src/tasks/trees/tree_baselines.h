#pragma once

#include <span>

#include "memory/vector.h"
#include "sample/block/batches.h"

namespace plimsoll {

/// Predicts the classes of trees without a network, from the training trees of a run.
class TreeBaselines {
 public:
  /// `training` are trees with a class in 0 .. classes-1; `source` must have coordinates. Reads one tree at a
  /// time.
  TreeBaselines(const BlockSource& source, std::span<const GraphShape> shapes, const GraphList& training,
                int64_t classes);

  using Logits = Vector<float, Tag::columns>;
  /// Returns [graphs, classes]: logarithms of the number of training trees of each class.
  Logits most_frequent(const GraphList& graphs) const;
  /// Returns [graphs, classes]: logarithms of the class shares among the 5 training trees that are nearest in
  /// the numbers of nodes, ends and branch points, and in length, extent and depth. Distances are between
  /// logarithms, in standard deviations.
  Logits nearest_in_shape(const GraphList& graphs) const;

 private:
  const BlockSource& source_;
  Vector<double, Tag::columns> shapes_;  // [training, kMeasures], standardised.
  Vector<int64_t, Tag::columns> labels_;
  Vector<double, Tag::columns> mean_, deviation_;  // [kMeasures].
  int64_t classes_;
};

}  // namespace plimsoll
