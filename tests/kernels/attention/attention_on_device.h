#pragma once

// A problem of attention_reference.h in the memory of a device, and the problems that CUDA kernels are given.

#include <limits>
#include <vector>

#include "kernels/attention/attention_cases.h"
#include "kernels/attention/attention_gpu.h"
#include "kernels/test_device.h"

namespace plimsoll {

/// The arrays of both kinds of attention. Arrays that kernels are to write hold NaN before.
template <typename T>
struct DeviceAttention {
  static constexpr T kNone = std::numeric_limits<T>::quiet_NaN();

  TestDevice& device;
  const AttentionProblem& problem;
  std::vector<int32_t> order_numbers{};
  EdgeOrder host_order = make_order();
  T* out = none(problem.graph.targets * problem.width());
  // Numbers of edges that are not in the order must not change.
  T* alpha = device.filled(problem.alpha_rows() * problem.heads, T(0));
  T* dz = none(problem.graph.sources * problem.width());
  T* dedge_attr =
      device.filled(problem.edge_attr_gradient ? problem.graph.edges() * problem.features : 0, T(0));
  T* dbias = none(problem.bias ? problem.width() : 0);

  T* none(int64_t count) { return device.filled(count, kNone); }
  T* input(const char* name) { return device.upload_as<T>(problem.inputs.at(name)); }

  void fill(Attention<T>& layer) {
    const TestGraph& graph = problem.graph;
    layer.order = {.sources = graph.sources, .targets = graph.targets, .edges = graph.edges()};
    layer.order.in_ptr = numbers(host_order.in_ptr, graph.targets + 1);
    layer.order.source = numbers(host_order.source, host_order.edges);
    layer.order.edge = numbers(host_order.edge, host_order.edges);
    layer.caller_edges = graph.edges();
    layer.heads = problem.heads;
    layer.channels = problem.channels;
    layer.edge_features = problem.features;
    layer.slope = static_cast<T>(problem.slope);
    layer.loops = problem.loops;
    layer.fill = problem.fill;
    layer.fill_value = static_cast<T>(problem.fill_value);
    layer.dropout = problem.keys();
    layer.dropout.item = device.upload(graph.graph_of_target);
    layer.dropout.local = device.upload(graph.local_of_target);
    layer.dropout.first_edge = device.upload(graph.first_edge_of_target);
    layer.z = input("z");
    layer.edge_attr = input("edge_attr");
    layer.bias = input("bias");
    layer.highest = none(graph.targets * problem.heads);
    layer.scale = none(graph.targets * problem.heads);
    layer.out = out;
    layer.alpha = alpha;
  }

  void fill(AttentionGradients<T>& gradients) {
    gradients.out = input("grad_out");
    gradients.alpha = input("grad_alpha");
    gradients.z = dz;
    gradients.edge_attr = dedge_attr;
    gradients.bias = dbias;
  }

  OutEdges out_edges() {
    const int64_t edges = host_order.edges;
    std::vector<int32_t> ptr(static_cast<size_t>(host_order.sources) + 1);
    std::vector<int32_t> position(static_cast<size_t>(edges));
    std::vector<int32_t> target(static_cast<size_t>(edges));
    transpose_edge_order(host_order, ptr.data(), position.data(), target.data());
    return {device.upload(ptr), device.upload(position), device.upload(target)};
  }

  Arrays results() const {
    const int64_t width = problem.width();
    Arrays all = {{"out", device.download(out, problem.graph.targets * width)},
                  {"alpha", device.download(alpha, problem.alpha_rows() * problem.heads)},
                  {"z", device.download(dz, problem.graph.sources * width)},
                  {"bias", device.download(dbias, problem.bias ? width : 0)}};
    if (problem.edge_attr_gradient)
      all["edge_attr"] = device.download(dedge_attr, problem.graph.edges() * problem.features);
    return all;
  }

 private:
  EdgeOrder make_order() {
    const TestGraph& graph = problem.graph;
    order_numbers.resize(static_cast<size_t>(edge_order_size(graph.targets, graph.edges())));
    make_edge_order(graph.source.data(), graph.target.data(), graph.edges(), graph.sources, graph.targets,
                    false, problem.loops && graph.same_nodes, order_numbers.data());
    return view_edge_order(order_numbers.data(), static_cast<int64_t>(order_numbers.size()), graph.sources,
                           graph.targets, graph.edges());
  }
  const int32_t* numbers(const int32_t* from, int64_t count) {
    return device.upload(std::vector<int32_t>(from, from + count));
  }
};

/// Compares both precisions with the reference, with wide loads if channels allow them and without. run(T(),
/// device, problem) returns values and gradients; `dynamic` selects GATv2.
template <typename Run>
void compare_on(Where where, AttentionProblem problem, bool dynamic, Run run) {
  SCOPED_TRACE(description_of(problem));
  problem.draw_inputs();
  const Arrays expected = expected_of(problem, dynamic);
  for (const bool aligned : {true, false}) {
    TestDevice device(where, aligned);
    if (aligned) expect_close<double>(run(0.0, device, problem), expected);
    expect_close<float>(run(0.0F, device, problem), expected);
  }
}

/// Sizes that for_all_sizes() lacks: more heads and channels than a warp has lanes, and than it loads at
/// once.
template <typename Compare>
void for_wide_rows(Compare compare) {
  const TestGraph graph = small_graphs(3, 8, 20);
  compare({.graph = graph, .heads = 40, .channels = 2, .features = 3});
  compare({.graph = graph, .heads = 2, .channels = 144, .features = 3});
  compare({.graph = graph, .heads = 5, .channels = 76, .features = 3});
}

/// A target with more than 65,536 edges, which is also the source of as many.
inline AttentionProblem hub_problem() {
  constexpr int64_t kEdges = 66'000;
  TestGraph graph = other_targets(50, 3, 0);
  for (int64_t e = 0; e < kEdges; ++e) {
    graph.source.push_back(e % 2 == 0 ? 1 : e % 50);
    graph.target.push_back(e % 1000 == 0 ? 2 : 1);
  }
  AttentionProblem problem{
      .graph = graph, .heads = 3, .channels = 4, .features = 1, .fill = LoopFill::value, .fill_value = 0.5};
  problem.draw_inputs();
  return problem;
}

/// Compares in float64 only, because the sum of the scores of so many edges nearly cancels.
template <typename Run>
void compare_hub(Where where, bool dynamic, Run run) {
  const AttentionProblem problem = hub_problem();
  Arrays expected = expected_of(problem, dynamic);
  TestDevice device(where, true);
  for (const auto& [name, numbers] : run(0.0, device, problem)) {
    ASSERT_EQ(numbers.size(), expected[name].size());
    for (size_t n = 0; n < numbers.size(); ++n)
      ASSERT_NEAR(numbers[n], expected[name][n], 1e-9 * (1 + std::abs(expected[name][n])))
          << name << " " << n;
  }
}

/// Expects the same bits from run to run and, on the host, for any order of lanes and items.
template <typename Run>
void expect_same_bits(
    Where where, Run run,
    AttentionProblem problem = {
        .graph = small_graphs(20, 30, 40), .heads = 8, .channels = 12, .features = 5, .dropout = 0.3}) {
  problem.draw_inputs();
  TestDevice device(where, true);
  TestDevice other(where == Where::cuda ? Where::cuda : Where::host, true);
  EXPECT_EQ(run(0.0F, device, problem), run(0.0F, other, problem));
}

/// Expects the same bits with one thread for each lane: more heads than lanes, more channels than are loaded
/// at once.
template <typename Run>
void expect_same_bits_of_threads(Run run) {
  const TestGraph graph = small_graphs(1, 5, 2, 4);
  expect_same_bits(Where::threads, run, {.graph = graph, .heads = 34, .channels = 3, .features = 2});
  expect_same_bits(Where::threads, run,
                   {.graph = graph, .heads = 3, .channels = 132, .features = 2, .dropout = 0.3});
}

}  // namespace plimsoll
