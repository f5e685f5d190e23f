#include "kernels/gatv2/gatv2_steps.h"

#include <gtest/gtest.h>

#include "kernels/attention/attention_on_device.h"

// Tests kernels/gatv2/gatv2.cu through its steps on the host, and on a GPU if there is one.

namespace plimsoll {
namespace {

template <typename T>
Arrays run(TestDevice& device, const AttentionProblem& problem) {
  DeviceAttention<T> arrays{device, problem};
  const int64_t width = problem.width();
  const bool shared = problem.shared_weights;
  Gatv2<T> layer;
  arrays.fill(layer);
  layer.z_target = shared ? layer.z : arrays.input("z_target");
  layer.edge_weight = arrays.input("edge_weight");
  layer.att = arrays.input("att");
  T* const forward_workspace = arrays.none(gatv2_forward_workspace(layer));
  Gatv2Gradients<T> gradients;
  arrays.fill(gradients);
  gradients.z_target = shared ? gradients.z : arrays.none(problem.graph.targets * width);
  gradients.edge_weight = arrays.none(problem.features * width);
  gradients.att = arrays.none(width);
  T* const backward_workspace = arrays.none(gatv2_backward_workspace(layer));
  const OutEdges edges = arrays.out_edges();
  if (device.on_host()) {
    run_gatv2_forward(layer, forward_workspace, device.launch());
    run_gatv2_backward(layer, gradients, edges, backward_workspace, device.launch());
  } else {
    gatv2_forward_cuda(layer, forward_workspace, nullptr);
    gatv2_backward_cuda(layer, gradients, edges, backward_workspace, nullptr);
  }
  Arrays results = arrays.results();
  results["edge_weight"] = device.download(gradients.edge_weight, problem.features * width);
  results["att"] = device.download(gradients.att, width);
  if (!shared) results["z_target"] = device.download(gradients.z_target, problem.graph.targets * width);
  return results;
}

class Gatv2OnDevice : public OnDevice {
 protected:
  static constexpr auto kRun = [](auto zero, TestDevice& device, const AttentionProblem& problem) {
    return run<decltype(zero)>(device, problem);
  };
  static void compare(const AttentionProblem& problem) { compare_on(GetParam(), problem, true, kRun); }
};

INSTANTIATE_TEST_SUITE_P(Places, Gatv2OnDevice,
                         testing::Values(Where::host, Where::host_backwards, Where::cuda), name_of_place);

TEST_P(Gatv2OnDevice, GivesTheFormulasForAllSizes) {
  for_all_sizes(compare, {1, 3, 8}, {1, 4, 7, 20, 32, 33});
  for_wide_rows(compare);
}
TEST_P(Gatv2OnDevice, GivesTheFormulasForAllOptions) {
  for_all_options(compare, {3, 8}, false);
  for_all_options(compare, {3, 8}, true);
}
TEST_P(Gatv2OnDevice, GivesTheFormulasForAllGraphs) {
  for_all_graphs(compare);
}
TEST_P(Gatv2OnDevice, GivesTheFormulasForAllDegrees) {
  for_all_degrees(compare, 0, 10);
}
TEST_P(Gatv2OnDevice, GivesTheFormulasForAHub) {
  compare_hub(GetParam(), true, kRun);
}
TEST_P(Gatv2OnDevice, GivesTheSameBits) {
  expect_same_bits(GetParam(), kRun);
}
TEST(Gatv2OnThreads, GivesTheSameBits) {
  expect_same_bits_of_threads([](auto zero, TestDevice& device, const AttentionProblem& problem) {
    return run<decltype(zero)>(device, problem);
  });
}

}  // namespace
}  // namespace plimsoll
