#pragma once

#include <cstdint>
#include <string>

#include "ingest/swc/swc_rows.h"
#include "memory/vector.h"

namespace plimsoll {

struct SwcTreeOptions {
  bool root_at_soma = true;  ///< Use the soma as root; if false, keep the roots of the file.
  /// Keep every tree of a forest. If false, keep only one: with root_at_soma the largest tree with a soma or,
  /// without any soma, the largest; otherwise the tree whose root is first in the file.
  bool split = false;
};

/// Trees of points in which parents precede children: depth first, with children in the order of their ids. A
/// merged soma replaces its points. The order of rows in the file does not matter.
struct SwcTree {
  struct Node {
    float x, y, z, radius;
    int32_t type;
    int32_t parent;  ///< Index in `nodes`, which is lower than the node's own index; -1 for a root.
  };
  Vector<Node, Tag::ingest> nodes;
};

/// Counts of the changes to a file's points.
struct SwcChanges {
  int64_t dropped_points = 0;  ///< Points of the discarded trees of a forest.
  int64_t soma_points = 0;     ///< Points that were merged into the node of their soma.
  int64_t rerooted = 0;        ///< Trees whose original root was not their soma.
  int64_t without_soma = 0;    ///< Trees without a soma.

  void add(const SwcChanges& more);
};

/// Makes the trees of a file, and adds the counts of its changes to `changes`. A soma of several connected
/// points, such as the three points of NeuroMorpho or a chain, becomes one node with the mean of their
/// positions and radii. With root_at_soma, a tree that has a soma is rerooted at the soma. Segments of length
/// 0 are kept. Errors: InputError with file and line for a duplicate id, a missing parent and a cycle;
/// BudgetExceeded.
SwcTree make_swc_tree(const SwcRows& rows, const std::string& name, const SwcTreeOptions& options,
                      SwcChanges& changes);

/// Keeps roots, branch points, ends and points where the type changes. Replaces the points between them by
/// points at equal steps of at most `step`, above 0, with interpolated radii. Between two kept points there
/// are at most 2^24 steps, even if they are then longer. Errors: BudgetExceeded.
SwcTree resample(const SwcTree& tree, double step);

}  // namespace plimsoll
