#pragma once

#include <cstdint>
#include <string>

#include "ingest/swc/swc_rows.h"
#include "memory/vector.h"

namespace plimsoll {

struct SwcTreeOptions {
  bool root_at_soma = true;  ///< Use the soma as root; if false, the first root of the file.
  /// Keep every tree of a forest; if false, only the tree with the soma or, without a soma, the largest.
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

/// Makes the trees of a file. A soma of several connected points, such as the three points of NeuroMorpho or
/// a chain, becomes one node with the mean of their positions and radii. With root_at_soma, a tree that has a
/// soma is rerooted at the soma. Segments of length 0 are kept. Errors: InputError with file and line for a
/// duplicate id, a missing parent and a cycle; BudgetExceeded.
SwcTree make_swc_tree(const SwcRows& rows, const std::string& name, const SwcTreeOptions& options,
                      SwcChanges& changes);

/// Keeps roots, branch points, ends and points where the type changes. Replaces the points between them by
/// points at equal steps of at most `step`, with interpolated radii. Errors: BudgetExceeded.
SwcTree resample(const SwcTree& tree, double step);

}  // namespace plimsoll
