#pragma once

// The problems on which kernels of attention are compared, on the processor and on a device. Each function
// calls compare(problem) for each of its problems.

#include <initializer_list>

#include "kernels/attention/attention_reference.h"

namespace plimsoll {

template <typename Compare>
void for_all_sizes(Compare compare, std::initializer_list<int64_t> heads,
                   std::initializer_list<int64_t> channels) {
  const TestGraph graph = small_graphs(3, 8, 20);
  for (const int64_t width : channels)
    for (const int64_t count : heads)
      compare({.graph = graph, .heads = count, .channels = width, .features = 3});
  for (const int64_t features : {0, 1, 11, 64})
    compare({.graph = graph, .heads = 8, .channels = 4, .features = features});
}

template <typename Compare>
void for_all_options(Compare compare, std::initializer_list<int64_t> heads, bool shared_weights) {
  const TestGraph graph = small_graphs(6, 12, 0);
  for (const int64_t count : heads)
    for (const int64_t features : {0, 2})
      for (const double dropout : {0.0, 0.4})
        for (const bool loops : {false, true})
          for (const LoopFill fill : {LoopFill::zero, LoopFill::mean, LoopFill::value})
            compare({.graph = graph,
                     .heads = count,
                     .channels = 5,
                     .features = features,
                     .loops = loops,
                     .fill = fill,
                     .fill_value = 2.5,
                     .slope = 0.1,
                     .dropout = dropout,
                     .bias = fill == LoopFill::mean,
                     .alpha_gradient = fill != LoopFill::mean,
                     .edge_attr_gradient = fill != LoopFill::value || !loops,
                     .shared_weights = shared_weights});
}

/// Targets that differ from sources, graphs without edges, and more nodes than fit into a range or a part of
/// a sum.
template <typename Compare>
void for_all_graphs(Compare compare) {
  for (const bool loops : {false, true}) {
    for (const int64_t heads : {2, 8})
      compare({.graph = other_targets(40, 15, 120),
               .heads = heads,
               .channels = 8,
               .features = 3,
               .loops = loops});
    compare({.graph = other_targets(5, 5, 0), .heads = 4, .channels = 8, .features = 3, .loops = loops});
  }
  compare({.graph = small_graphs(100, 30, 0), .heads = 4, .channels = 8, .features = 2});
}

/// One target for each number of edges from `min` to `max`, without and with self-loops.
template <typename Compare>
void for_all_degrees(Compare compare, int64_t min, int64_t max) {
  for (int64_t edges = min; edges <= max; ++edges)
    for (const bool loops : {false, true}) {
      TestGraph graph = other_targets(6, 2, 0);
      for (int64_t e = 0; e < edges; ++e) {
        graph.source.push_back(e % 6);
        graph.target.push_back(1);
      }
      compare({.graph = graph, .heads = 2, .channels = 8, .features = 2, .loops = loops, .dropout = 0.2});
    }
}

/// Checks the reference's own gradients by differences of its loss. `dynamic` selects GATv2.
inline void expect_gradients_of_the_reference(bool dynamic) {
  for (const LoopFill fill : {LoopFill::mean, LoopFill::value}) {
    AttentionProblem problem{.graph = small_graphs(2, 6, 2),
                             .heads = 5,
                             .channels = 2,
                             .features = 2,
                             .fill = fill,
                             .fill_value = 1.5,
                             .dropout = 0.3};
    problem.draw_inputs();
    expect_gradients_of_the_loss(problem, dynamic);
  }
}

}  // namespace plimsoll
