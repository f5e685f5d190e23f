#pragma once

#include <cstdint>

#include "base/words.h"
#include "config/checks.h"

namespace plimsoll {

/// The loss on pairs of nodes (nn/tree_pretraining.h).
enum class OrderLoss : uint8_t { vendrov, norm, squared };
template <>
inline constexpr auto kWords<OrderLoss> = std::to_array<std::string_view>({"vendrov", "norm", "squared"});

/// Options of GT-SSL, in which an SGMP or GTMP model learns from unlabelled trees (docs/gtssl.md).
struct PretrainingOptions {
  int64_t bins = 50;        ///< Bins of the histogram of distances to a node's children.
  int64_t angle_bins = 0;   ///< Bins of the histogram of angles to a node's children; 0: angles are not
                            ///< learned.
  AutoOrNumber range = {};  ///< Upper end of the histogram of distances; `auto`: paths.cutoff.
  bool leaves = true;       ///< Whether nodes without children count in the growth loss.
  OrderLoss order = OrderLoss::vendrov;
  double order_weight = 1;
  double margin = 1;  ///< Margin for pairs of nodes of which neither is a descendant of the other.
  /// If a graph is not a forest, the root from which its spanning forest is built; -1: the node with the most
  /// edges.
  int64_t root = -1;
};

template <EitherOf<PretrainingOptions> Section, typename Visit>
void visit_keys(Section& pretraining, Visit&& visit) {
  visit("bins", pretraining.bins, Range{2, 1024});
  visit("angle_bins", pretraining.angle_bins, Range{0, 1024});
  visit("range", pretraining.range, AutoOr{1e-30, 1e30});
  visit("leaves", pretraining.leaves, Flag{});
  visit("order", pretraining.order, Choice<OrderLoss>{});
  visit("order_weight", pretraining.order_weight, Range{0, 1e6});
  visit("margin", pretraining.margin, Range{0, 1e6});
  visit("root", pretraining.root, Range{-1, 2147483647});
}

}  // namespace plimsoll
