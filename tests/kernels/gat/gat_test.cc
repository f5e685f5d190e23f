#include "kernels/gat/gat.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/attention/attention_cases.h"

namespace plimsoll {
namespace {

// Runs the layer's kernels, in ranges of nodes or in closed pieces.
template <typename T>
Arrays run(Level level, const AttentionProblem& problem, bool closed) {
  const GatKernels<T>& kernels = gat_kernels<T>(level);
  AttentionArrays<T> arrays(problem, closed);
  constexpr T kNone = arrays.kNone;
  const int64_t heads = problem.heads;
  Numbers<T> s = arrays.input("s");
  Numbers<T> t = arrays.input("t");
  Numbers<T> q = arrays.input("q");
  Gat<T> layer;
  arrays.fill(layer);
  layer.q = q.data();
  layer.s = s.data();
  layer.t = t.data();
  const auto scratch = [&] { return Numbers<T>(gat_scratch_size(layer.order, heads), kNone); };
  arrays.in_pieces([&](int64_t begin, int64_t end) { kernels.forward(layer, begin, end, scratch().data()); });
  layer.out = layer.alpha = nullptr;

  Numbers<T> ds(problem.graph.sources * heads, closed ? T(0) : kNone);
  Numbers<T> dt(problem.graph.targets * heads, kNone);
  Numbers<T> dq(problem.features * heads, T(0));
  if (!closed) arrays.dz = Numbers<T>(problem.graph.sources * problem.width(), kNone);  // gather() writes it.
  GatGradients<T> gradients;
  arrays.fill(gradients);
  gradients.s = ds.data();
  gradients.t = dt.data();
  gradients.q = dq.data();
  arrays.in_pieces(
      [&](int64_t begin, int64_t end) { kernels.backward(layer, gradients, begin, end, scratch().data()); });
  if (!closed) {
    const OutEdges edges = arrays.out_edges();
    in_ranges(problem.graph.sources, arrays.kStep,
              [&](int64_t begin, int64_t end) { kernels.gather(layer, gradients, edges, begin, end); });
  }
  Arrays results = arrays.results();
  results.insert({{"s", ds.values()}, {"t", dt.values()}, {"q", dq.values()}});
  return results;
}

class GatAtLevel : public AtLevel {
 protected:
  static void compare(const AttentionProblem& problem) {
    compare_with_reference(problem, false, [](auto zero, const AttentionProblem& tested, bool closed) {
      return run<decltype(zero)>(GetParam(), tested, closed);
    });
  }
};

INSTANTIATE_TEST_SUITE_P(Levels, GatAtLevel, testing::Values(Level::portable, Level::avx2, Level::avx512),
                         [](const auto& level) { return name_of(level.param); });

TEST_P(GatAtLevel, GivesTheFormulasForAllSizes) {
  for_all_sizes(compare, {1, 3, 4, 8}, {1, 2, 3, 4, 7, 8, 12, 16, 24, 32, 33, 48, 64, 80, 144});
}

TEST_P(GatAtLevel, GivesTheFormulasForAllOptions) {
  for_all_options(compare, {3, 4, 8}, false);
}

TEST_P(GatAtLevel, GivesTheFormulasForAllGraphs) {
  for_all_graphs(compare);
}

TEST_P(GatAtLevel, ScoresAreInnerProducts) {
  const auto compare_scores = [](auto zero, int64_t heads, int64_t channels) {
    using T = decltype(zero);
    constexpr int64_t kNodes = 5;
    AttentionProblem problem{.graph = other_targets(kNodes, kNodes, 0), .heads = heads, .channels = channels};
    problem.draw_inputs();
    const int64_t width = heads * channels;
    const auto& z = problem.inputs["z"];
    const auto& att = problem.inputs["att"];
    const auto& dout = problem.inputs["s"];
    const std::vector<double> other(att.rbegin(), att.rend());  // Vectors of the targets.
    const std::vector<double> other_dout(dout.rbegin(), dout.rend());
    const auto sums = [](int64_t size) { return std::vector<double>(static_cast<size_t>(size)); };
    Arrays expected{{"z", problem.inputs["z_target"]}};
    for (const bool target : {false, true}) {
      const auto& a = target ? other : att;
      const auto& d = target ? other_dout : dout;
      auto& scores = expected[target ? "t" : "s"] = sums(kNodes * heads);
      auto& da = expected[target ? "att_target" : "att_source"] = sums(width);
      for (int64_t i = 0; i < kNodes; ++i)
        for (int64_t c = 0; c < width; ++c) {
          const auto at = static_cast<size_t>(i * width + c);
          const auto score = static_cast<size_t>(i * heads + c / channels);
          const auto channel = static_cast<size_t>(c);
          scores[score] += z[at] * a[channel];
          expected["z"][at] += d[score] * a[channel];
          da[channel] += d[score] * z[at];
        }
    }
    Numbers<T> z_now(z), a_now(att), other_now(other), d_now(dout), other_d_now(other_dout);
    Numbers<T> s(kNodes * heads, T(0)), t(kNodes * heads, T(0)), dz(problem.inputs["z_target"]),
        da(width, T(0)), other_da(width, T(0));
    const GatKernels<T>& kernels = gat_kernels<T>(GetParam());
    const ScorePair<const T> both{a_now.data(), other_now.data()};
    in_ranges(kNodes, 2, [&](int64_t begin, int64_t end) {
      kernels.scores(z_now.data(), both, heads, channels, begin, end, {s.data(), t.data()});
      kernels.scores_backward(z_now.data(), both, {d_now.data(), other_d_now.data()}, heads, channels, begin,
                              end, dz.data(), {da.data(), other_da.data()});
    });
    expect_close<T>({{"s", s.values()},
                     {"t", t.values()},
                     {"z", dz.values()},
                     {"att_source", da.values()},
                     {"att_target", other_da.values()}},
                    expected);
  };
  for (const int64_t heads : {1, 4, 8})
    for (const int64_t channels : {1, 5, 8, 16, 32, 40}) {
      compare_scores(0.0F, heads, channels);
      compare_scores(0.0, heads, channels);
    }
}

TEST_P(GatAtLevel, SumsAreThoseOfTheWholeHoweverRangesAreCut) {
  AttentionProblem problem{.graph = small_graphs(20, 30, 20), .heads = 4, .channels = 8, .features = 3};
  problem.draw_inputs();
  EXPECT_EQ(run<float>(GetParam(), problem, true).at("out"),
            run<float>(GetParam(), problem, false).at("out"));
}

TEST(GatReference, HasTheGradientsOfItsLoss) {
  expect_gradients_of_the_reference(false);
}

}  // namespace
}  // namespace plimsoll
