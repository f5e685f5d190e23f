#include "kernels/gatv2/gatv2.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/attention/attention_cases.h"

namespace plimsoll {
namespace {

// Runs the layer's kernels, in ranges of nodes or in closed pieces.
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
    compare_with_reference(problem, true, [](auto zero, const AttentionProblem& tested, bool closed) {
      return run<decltype(zero)>(GetParam(), tested, closed);
    });
  }
};

INSTANTIATE_TEST_SUITE_P(Levels, Gatv2AtLevel, testing::Values(Level::portable, Level::avx2, Level::avx512),
                         [](const auto& level) { return name_of(level.param); });

TEST_P(Gatv2AtLevel, GivesTheFormulasForAllSizes) {
  for_all_sizes(compare, {1, 3, 4, 8}, {1, 2, 3, 4, 7, 8, 12, 16, 24, 32, 33, 48, 64, 80, 144});
}

TEST_P(Gatv2AtLevel, GivesTheFormulasForAllOptions) {
  for (const bool shared_weights : {false, true}) for_all_options(compare, {3, 4, 8}, shared_weights);
}

TEST_P(Gatv2AtLevel, GivesTheFormulasForAllGraphs) {
  for_all_graphs(compare);
}

// Rows of kGatv2Rows edges are kept; the rest are computed again.
TEST_P(Gatv2AtLevel, GivesTheFormulasForAllDegrees) {
  for_all_degrees(compare, kGatv2Rows - 3, 3 * kGatv2Rows + 2);
}

TEST(Gatv2Reference, HasTheGradientsOfItsLoss) {
  expect_gradients_of_the_reference(true);
}

}  // namespace
}  // namespace plimsoll
