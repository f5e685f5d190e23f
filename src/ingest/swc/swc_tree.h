#pragma once

#include <cstdint>
#include <string>

#include "ingest/swc/swc_rows.h"
#include "memory/vector.h"

namespace plimsoll {

struct SwcTreeOptions {
  bool root_at_soma = true;  ///< else at the first root of the file
  bool split = false;  ///< each tree of a forest is kept; else the one that has the soma, or the largest
};

/// Trees of points whose parents come first: depth first, children by ascending id, of a soma point that was
/// joined in its place, so that the order of rows in the file does not matter.
struct SwcTree {
  struct Node {
    float x, y, z, radius;
    int32_t type;
    int32_t parent;  ///< its number in `nodes`, below the node's own; -1 for a root
  };
  Vector<Node, Tag::ingest> nodes;
};

/// What was done to a file's points.
struct SwcChanges {
  int64_t dropped_points = 0;  ///< of the other trees of a forest
  int64_t soma_points = 0;     ///< that went into the node of their soma
  int64_t rerooted = 0;        ///< trees whose root was not their soma
  int64_t without_soma = 0;    ///< trees

  void add(const SwcChanges& of);
};

/// The trees of a file. A soma of several points that hang together, three points of NeuroMorpho or a chain,
/// becomes one node: the mean of their places and radii. A tree is turned round so that its soma is the root,
/// where root_at_soma asks for it and there is one. Zero-length segments stay. Errors: InputError with file
/// and line for an id that is there twice, a parent that is missing and a cycle; BudgetExceeded.
SwcTree make_swc_tree(const SwcRows& rows, const std::string& name, const SwcTreeOptions& options,
                      SwcChanges& changes);

/// Points at equal steps of at most `step` along each stretch between roots, branch points, ends and changes
/// of type, which all stay; radii in between are interpolated. Errors: BudgetExceeded.
SwcTree resample(const SwcTree& tree, double step);

}  // namespace plimsoll
