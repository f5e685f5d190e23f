#include "kernels/gat/gat_steps.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "kernels/attention/attention_on_device.h"

// Tests kernels/gat/gat.cu through its steps on the host, and on a GPU if there is one.

namespace plimsoll {
namespace {

// The gradient of z is that of an independent z: GatScores add nothing to it.
template <typename T>
Arrays run(TestDevice& device, const AttentionProblem& problem) {
  DeviceAttention<T> arrays{device, problem};
  const int64_t heads = problem.heads;
  Gat<T> layer;
  arrays.fill(layer);
  layer.q = arrays.input("q");
  layer.s = arrays.input("s");
  layer.t = arrays.input("t");
  T* const forward_workspace = arrays.none(gat_forward_workspace(layer));
  GatScores<T> scores;
  scores.att_source = device.filled(problem.width(), T(0));
  scores.source_gradient = arrays.none(problem.width());
  GatGradients<T> gradients;
  arrays.fill(gradients);
  gradients.s = arrays.none(problem.graph.sources * heads);
  gradients.t = arrays.none(problem.graph.targets * heads);
  gradients.q = arrays.none(problem.features * heads);
  T* const backward_workspace = arrays.none(gat_backward_workspace(layer));
  const OutEdges edges = arrays.out_edges();
  if (device.on_host()) {
    run_gat_forward(layer, forward_workspace, device.launch());
    run_gat_backward(layer, gradients, scores, edges, backward_workspace, device.launch());
  } else {
    gat_forward_cuda(layer, forward_workspace, nullptr);
    gat_backward_cuda(layer, gradients, scores, edges, backward_workspace, nullptr);
  }
  Arrays results = arrays.results();
  results["s"] = device.download(gradients.s, problem.graph.sources * heads);
  results["t"] = device.download(gradients.t, problem.graph.targets * heads);
  results["q"] = device.download(gradients.q, problem.features * heads);
  return results;
}

class GatOnDevice : public OnDevice {
 protected:
  static constexpr auto kRun = [](auto zero, TestDevice& device, const AttentionProblem& problem) {
    return run<decltype(zero)>(device, problem);
  };
  static void compare(const AttentionProblem& problem) { compare_on(GetParam(), problem, false, kRun); }
};

INSTANTIATE_TEST_SUITE_P(Places, GatOnDevice,
                         testing::Values(Where::host, Where::host_backwards, Where::cuda), name_of_place);

TEST_P(GatOnDevice, GivesTheFormulasForAllSizes) {
  for_all_sizes(compare, {1, 3, 8}, {1, 4, 7, 20, 32, 33});
  for_wide_rows(compare);
}
TEST_P(GatOnDevice, GivesTheFormulasForAllOptions) {
  for_all_options(compare, {3, 8}, false);
}
TEST_P(GatOnDevice, GivesTheFormulasForAllGraphs) {
  for_all_graphs(compare);
}
TEST_P(GatOnDevice, GivesTheFormulasForAllDegrees) {
  for_all_degrees(compare, 0, 10);
}
TEST_P(GatOnDevice, GivesTheFormulasForAHub) {
  compare_hub(GetParam(), false, kRun);
}
TEST_P(GatOnDevice, GivesTheSameBits) {
  expect_same_bits(GetParam(), kRun);
}
TEST(GatOnThreads, GivesTheSameBits) {
  expect_same_bits_of_threads([](auto zero, TestDevice& device, const AttentionProblem& problem) {
    return run<decltype(zero)>(device, problem);
  });
}

// The inner products of the rows of z with a vector, by head: [nodes, heads].
std::vector<double> dot_rows(const std::vector<double>& z, const std::vector<double>& att,
                             const AttentionProblem& problem) {
  std::vector<double> result(z.size() / static_cast<size_t>(problem.channels));
  for (size_t n = 0; n < z.size(); ++n)
    result[n / static_cast<size_t>(problem.channels)] += z[n] * att[n % static_cast<size_t>(problem.width())];
  return result;
}

// Compares the gradients of z and of the vectors that give scores, which follow from the gradients of s and
// t.
template <typename T>
void compare_score_gradients(TestDevice& device, AttentionProblem& problem, const std::vector<double>& source,
                             const std::vector<double>& target, const GatScores<T>& scores, T* s, T* t) {
  const int64_t nodes = problem.graph.sources;
  const int64_t channels = problem.channels;
  const int64_t width = problem.width();
  const std::vector<double> z = problem.inputs["z"];
  // The reference has s and t as inputs, so the chain rule is continued here.
  problem.inputs["s"] = dot_rows(z, source, problem);
  problem.inputs["t"] = dot_rows(z, target, problem);
  Arrays expected = AttentionReference(problem, false).gradients();
  Arrays expected_gradients{{"z", expected["z"]},
                            {"source", std::vector<double>(static_cast<size_t>(width))},
                            {"target", std::vector<double>(static_cast<size_t>(width))}};
  for (size_t n = 0; n < z.size(); ++n) {
    const size_t c = n % static_cast<size_t>(width);
    const size_t score = n / static_cast<size_t>(channels);
    expected_gradients["z"][n] += expected["s"][score] * source[c] + expected["t"][score] * target[c];
    expected_gradients["source"][c] += expected["s"][score] * z[n];
    expected_gradients["target"][c] += expected["t"][score] * z[n];
  }
  DeviceAttention<T> arrays{device, problem};
  Gat<T> layer;
  arrays.fill(layer);
  layer.s = s;
  layer.t = t;
  GatGradients<T> gradients;
  arrays.fill(gradients);
  gradients.s = arrays.none(nodes * problem.heads);
  gradients.t = arrays.none(nodes * problem.heads);
  T* const forward_workspace = arrays.none(gat_forward_workspace(layer));
  T* const backward_workspace = arrays.none(gat_backward_workspace(layer));
  const OutEdges edges = arrays.out_edges();
  if (device.on_host()) {
    run_gat_forward(layer, forward_workspace, device.launch());
    run_gat_backward(layer, gradients, scores, edges, backward_workspace, device.launch());
  } else {
    gat_forward_cuda(layer, forward_workspace, nullptr);
    gat_backward_cuda(layer, gradients, scores, edges, backward_workspace, nullptr);
  }
  expect_close<T>({{"z", device.download(gradients.z, nodes * width)},
                   {"source", device.download(scores.source_gradient, width)},
                   {"target", device.download(scores.target_gradient, width)}},
                  expected_gradients);
}

// Compares scores, and the gradients of their vectors that follow from the gradients of s and t.
template <typename T>
void compare_scores(Where where, int64_t heads, int64_t channels, bool aligned) {
  SCOPED_TRACE(testing::Message() << heads << " heads of " << channels << " channels");
  constexpr int64_t kNodes = 40;
  AttentionProblem problem{.graph = other_targets(kNodes, kNodes, 90),
                           .heads = heads,
                           .channels = channels,
                           .loops = false,
                           .bias = false,
                           .alpha_gradient = false};
  problem.draw_inputs();
  const int64_t width = heads * channels;
  const std::vector<double> z = problem.inputs["z"];
  std::vector<double> source = problem.inputs["att"];
  std::vector<double> target(problem.inputs["z_target"].begin(), problem.inputs["z_target"].begin() + width);
  // The division keeps scores of any number of channels at the size of one.
  for (std::vector<double>* const att : {&source, &target})
    for (double& number : *att) number = static_cast<float>(number / std::sqrt(channels));
  TestDevice device(where, aligned);
  GatScores<T> scores{device.upload_as<T>(source), device.upload_as<T>(target), device.filled(width, T(0)),
                      device.filled(width, T(0))};
  const T* const device_z = device.upload_as<T>(z);
  T* const s = device.filled(kNodes * heads, T(0));
  T* const t = device.filled(kNodes * heads, T(0));
  if (device.on_host())
    run_gat_scores(device_z, scores, heads, channels, kNodes, s, t, device.launch());
  else
    gat_scores_cuda(device_z, scores, heads, channels, kNodes, s, t, nullptr);
  expect_close<T>({{"out", device.download(s, kNodes * heads)}}, {{"out", dot_rows(z, source, problem)}});
  expect_close<T>({{"out", device.download(t, kNodes * heads)}}, {{"out", dot_rows(z, target, problem)}});
  compare_score_gradients(device, problem, source, target, scores, s, t);
}

TEST_P(GatOnDevice, ScoresAreInnerProductsAndPassGradientsOn) {
  for (const int64_t heads : {1, 4, 8, 33})
    for (const int64_t channels : {1, 5, 8, 32, 132}) {
      compare_scores<double>(GetParam(), heads, channels, true);
      compare_scores<float>(GetParam(), heads, channels, true);
      compare_scores<float>(GetParam(), heads, channels, false);
    }
}

TEST(Cuda, LayersSayThatABuildOrMachineHasNone) {
  if (cuda_devices() > 0) GTEST_SKIP() << "a CUDA device is here";
  std::vector<float> numbers(8);
  Gat<float> layer;
  const std::vector<int32_t> ptr = {0, 0};
  layer.order = {.sources = 1, .targets = 1};
  layer.order.in_ptr = ptr.data();
  EXPECT_THROW(gat_forward_cuda(layer, numbers.data(), nullptr), Failure);
  EXPECT_THROW(cuda_allocate(8), Failure);
}

}  // namespace
}  // namespace plimsoll
