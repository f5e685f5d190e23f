#include "kernels/gatv2.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/attention_reference.h"

namespace plimsoll {
namespace {

// The layer's kernels, in ranges of nodes or in closed pieces.
template <typename T>
Arrays run(Level level, const AttentionProblem& problem, bool closed) {
  const Gatv2Kernels<T>& kernels = gatv2_kernels<T>(level);
  AttentionArrays<T> arrays(problem, closed);
  const bool shared = problem.shared_weights;
  Numbers<T> z_target = arrays.input("z_target");
  Numbers<T> edge_weight = arrays.input("edge_weight");
  Numbers<T> att = arrays.input("att");
  Gatv2<T> layer;
  arrays.fill(layer);
  layer.z_target = shared ? layer.z : z_target.data();
  layer.edge_weight = edge_weight.data();
  layer.att = att.data();
  const auto scratch = [&] {
    return Numbers<T>(gatv2_scratch_size(layer.order, problem.heads, problem.channels, problem.features),
                      arrays.kNone);
  };
  arrays.in_pieces([&](int64_t begin, int64_t end) { kernels.forward(layer, begin, end, scratch().data()); });
  layer.out = layer.alpha = nullptr;

  Numbers<T> dz_target(problem.graph.targets * problem.width(), T(0));
  Numbers<T> dedge_weight(problem.features * problem.width(), T(0));
  Numbers<T> datt(problem.width(), T(0));
  Gatv2Gradients<T> gradients;
  arrays.fill(gradients);
  gradients.z_target = shared ? gradients.z : dz_target.data();
  gradients.edge_weight = dedge_weight.data();
  gradients.att = datt.data();
  arrays.in_pieces(
      [&](int64_t begin, int64_t end) { kernels.backward(layer, gradients, begin, end, scratch().data()); });
  if (!closed) {
    const OutEdges edges = arrays.out_edges();
    in_ranges(problem.graph.sources, arrays.kStep, [&](int64_t begin, int64_t end) {
      kernels.gather(layer, gradients, edges, begin, end, scratch().data());
    });
  }
  Arrays results = arrays.results();
  results.insert({{"edge_weight", dedge_weight.values()}, {"att", datt.values()}});
  if (!shared) results.insert({"z_target", dz_target.values()});
  return results;
}

class Gatv2AtLevel : public AtLevel {
 protected:
  static void compare(const AttentionProblem& problem) {
    compare_with_reference(problem, true, [](auto zero, const AttentionProblem& of, bool closed) {
      return run<decltype(zero)>(GetParam(), of, closed);
    });
  }
};

INSTANTIATE_TEST_SUITE_P(Levels, Gatv2AtLevel, testing::Values(Level::portable, Level::avx2, Level::avx512),
                         [](const auto& level) { return name_of(level.param); });

TEST_P(Gatv2AtLevel, GivesTheFormulasForAllSizes) {
  const TestGraph graph = small_graphs(3, 8, 20);
  for (const int64_t channels : {1, 2, 3, 4, 7, 8, 12, 16, 24, 32, 33, 48, 64, 80, 144})
    for (const int64_t heads : {1, 3, 4, 8})
      compare({.graph = graph, .heads = heads, .channels = channels, .features = 3});
  for (const int64_t features : {0, 1, 11, 64})
    compare({.graph = graph, .heads = 8, .channels = 4, .features = features});
}

// Rows of so many edges are kept; the rest are computed again.
TEST_P(Gatv2AtLevel, GivesTheFormulasForAnyNumberOfEdgesOfATarget) {
  for (int64_t edges = kGatv2Rows - 3; edges <= 3 * kGatv2Rows + 2; ++edges)
    for (const bool loops : {false, true}) {
      TestGraph graph = other_targets(6, 2, 0);
      for (int64_t e = 0; e < edges; ++e) {
        graph.source.push_back(e % 6);
        graph.target.push_back(1);
      }
      compare({.graph = graph, .heads = 2, .channels = 8, .features = 2, .loops = loops, .dropout = 0.2});
    }
}

TEST_P(Gatv2AtLevel, GivesTheFormulasForManyPieces) {
  compare({.graph = small_graphs(100, 30, 0), .heads = 4, .channels = 8, .features = 2});
}

TEST_P(Gatv2AtLevel, GivesTheFormulasForAllOptions) {
  const TestGraph graph = small_graphs(6, 12, 0);
  for (const bool shared_weights : {false, true})
    for (const int64_t heads : {3, 4, 8})
      for (const int64_t features : {0, 2})
        for (const double dropout : {0.0, 0.4})
          for (const bool loops : {false, true})
            for (const LoopFill fill : {LoopFill::zero, LoopFill::mean, LoopFill::value})
              compare({.graph = graph,
                       .heads = heads,
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

TEST_P(Gatv2AtLevel, GivesTheFormulasForOtherTargets) {
  for (const bool loops : {false, true})
    for (const int64_t heads : {2, 8})
      compare({.graph = other_targets(40, 15, 120),
               .heads = heads,
               .channels = 8,
               .features = 3,
               .loops = loops});
}

TEST_P(Gatv2AtLevel, GivesTheFormulasWithoutEdges) {
  for (const bool loops : {false, true})
    compare({.graph = other_targets(5, 5, 0), .heads = 4, .channels = 8, .features = 3, .loops = loops});
}

TEST(Gatv2Reference, HasTheGradientsOfItsLoss) {
  for (const LoopFill fill : {LoopFill::mean, LoopFill::value}) {
    AttentionProblem problem{.graph = small_graphs(2, 6, 2),
                             .heads = 5,
                             .channels = 2,
                             .features = 2,
                             .fill = fill,
                             .fill_value = 1.5,
                             .dropout = 0.3};
    problem.draw_inputs();
    expect_gradients_of_the_loss(problem, true);
  }
}

}  // namespace
}  // namespace plimsoll
