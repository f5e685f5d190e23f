#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "kernels/aggregate/aggregate_gpu.h"
#include "kernels/aggregate/aggregate_steps.h"
#include "kernels/cuda_instances.h"
#include "kernels/gat/gat_steps.h"
#include "kernels/gatv2/gatv2_steps.h"
#include "kernels/host_warp.h"
#include "kernels/logit_losses/logit_losses_steps.h"
#include "kernels/out_edges/out_edges_steps.h"
#include "kernels/path_message/path_message_steps.h"
#include "kernels/segment/segment_steps.h"
#include "ops/aggregate/aggregate.h"
#include "ops/aggregate/aggregate_gpu.h"
#include "ops/attention/edge_order_gpu.h"
#include "ops/device_bytes.h"
#include "ops/embedding/embedding.h"
#include "ops/gat/gat_gpu.h"
#include "ops/gatv2/gatv2_gpu.h"
#include "ops/linear_losses/linear_losses.h"
#include "ops/operator.h"
#include "ops/path_message/path_message_gpu.h"
#include "ops/segment/segment.h"
#include "ops/segment/segment_cpu.h"
#include "ops/segment/segment_gpu.h"
#include "support/allocation_tape.h"
#include "support/counting_allocator.h"

// Layers as they run on a CUDA device, on tensors of the CPU: this program links kernels that run their steps
// on the host in place of those of the library. They are compared with the operators of the CPU.

namespace plimsoll {

template <typename T>
void aggregate_cuda(const AggregateInput<T>& in, int64_t rows, T* out, void*) {
  const AggregateOnDevice<T> step{in, out};
  HostLaunch()(rows * step.blocks(), step);
}
template <typename T>
void gat_scores_cuda(const T* z, const GatScores<T>& scores, int64_t heads, int64_t channels, int64_t nodes,
                     T* s, T* t, void*) {
  run_gat_scores(z, scores, heads, channels, nodes, s, t, HostLaunch());
}
template <typename T>
void gat_forward_cuda(const Gat<T>& layer, T* workspace, void*) {
  run_gat_forward(layer, workspace, HostLaunch());
}
template <typename T>
void gat_backward_cuda(const Gat<T>& layer, const GatGradients<T>& gradients, const GatScores<T>& scores,
                       const OutEdges& edges, T* workspace, void*) {
  run_gat_backward(layer, gradients, scores, edges, workspace, HostLaunch());
}
template <typename T>
void cross_entropy_cuda(const LogitTile<T>& tile, const int64_t* target, void*) {
  HostLaunch()(tile.rows, CrossEntropyRow<T>{tile, target});
}
template <typename T>
void multilabel_bce_cuda(const LogitTile<T>& tile, const int64_t* ptr, const int64_t* ids, void*) {
  HostLaunch()(tile.rows, MultilabelBceRow<T>{tile, ptr, ids});
}
template <typename T>
void gatv2_forward_cuda(const Gatv2<T>& layer, T* workspace, void*) {
  run_gatv2_forward(layer, workspace, HostLaunch());
}
template <typename T>
void gatv2_backward_cuda(const Gatv2<T>& layer, const Gatv2Gradients<T>& gradients, const OutEdges& edges,
                         T* workspace, void*) {
  run_gatv2_backward(layer, gradients, edges, workspace, HostLaunch());
}

void out_edges_cuda(const EdgeOrder& order, int32_t* out_ptr, int32_t* position, int32_t* target,
                    int32_t* buffer, void*) {
  run_out_edges(order, out_ptr, position, target, buffer, HostLaunch());
}

void count_edge_paths_cuda(const PathGraph& graph, int64_t edges, int64_t* counts, void*) {
  HostLaunch()(edges, CountEdgePaths{graph, counts});
}
template <typename T>
void find_paths_cuda(const FoundPaths<T>& paths, void*) {
  HostLaunch()(paths.rows, FindPaths<T>{paths});
}
template <typename T>
void gather_rows_cuda(const GatheredRows<T>& rows, int64_t count, void*) {
  HostLaunch()(count, GatherRows<T>{rows});
}
template <typename T>
void scatter_rows_cuda(const ScatteredRows<T>& rows, void*) {
  const ScatterRows<T> step{rows};
  HostLaunch()(rows.rows * step.blocks(), step);
}

template <typename Step>
void on_host(const Step& step) {
  HostLaunch()(step.segments.count * step.segments.blocks(), step);
}
template <typename T>
void segment_reduce_cuda(const T* x, const int64_t* ptr, int64_t segments, int64_t features, Reduce kind,
                         T* out, void*) {
  on_host(SegmentReduce<T>{{ptr, segments, features}, x, kind, out});
}
template <typename T>
void segment_reduce_backward_cuda(const T* dout, const T* x, const T* out, const int64_t* ptr,
                                  int64_t segments, int64_t features, Reduce kind, T* dx, void*) {
  on_host(SegmentReduceBackward<T>{{ptr, segments, features}, dout, x, out, kind, dx});
}
template <typename T>
void segment_softmax_cuda(const T* x, const int64_t* ptr, int64_t segments, int64_t features, T* out, void*) {
  on_host(SegmentSoftmax<T>{{ptr, segments, features}, x, out});
}
template <typename T>
void segment_softmax_backward_cuda(const T* dout, const T* out, const int64_t* ptr, int64_t segments,
                                   int64_t features, T* dx, void*) {
  on_host(SegmentSoftmaxBackward<T>{{ptr, segments, features}, dout, out, dx});
}
template <typename T>
void graph_norm_cuda(const T* x, const int64_t* ptr, int64_t segments, int64_t features, const T* weight,
                     const T* bias, const T* mean_scale, T eps, T* out, T* mean, T* r, void*) {
  on_host(GraphNorm<T>{{ptr, segments, features}, x, weight, bias, mean_scale, eps, out, mean, r});
}
template <typename T>
void graph_norm_backward_cuda(const T* dout, const T* x, const int64_t* ptr, int64_t segments,
                              int64_t features, const T* weight, const T* mean_scale, const T* mean,
                              const T* r, T* dx, T* dweights, T* workspace, void*) {
  run_graph_norm_backward<T>({ptr, segments, features}, dout, x, weight, mean_scale, mean, r, dx, dweights,
                             workspace, HostLaunch());
}
PLIMSOLL_LOGIT_LOSSES_CUDA(float)
PLIMSOLL_LOGIT_LOSSES_CUDA(double)
PLIMSOLL_AGGREGATE_CUDA(float)
PLIMSOLL_AGGREGATE_CUDA(double)
PLIMSOLL_GAT_CUDA(float)
PLIMSOLL_GAT_CUDA(double)
PLIMSOLL_GATV2_CUDA(float)
PLIMSOLL_GATV2_CUDA(double)
PLIMSOLL_PATHS_CUDA(float)
PLIMSOLL_PATHS_CUDA(double)
PLIMSOLL_SEGMENT_CUDA(float)
PLIMSOLL_SEGMENT_CUDA(double)

namespace {

// Numbers without a generator: sines of large arguments.
at::Tensor numbers(at::IntArrayRef shape, double seed) {
  const at::Tensor flat = at::arange(c10::multiply_integers(shape), at::kDouble);
  return at::sin(flat * 12.9898 + seed * 78.233).mul(1.3).view(shape);
}

at::Tensor indices(int64_t edges, int64_t nodes, double seed) {
  return numbers({edges}, seed).mul(1e4).remainder(static_cast<double>(nodes)).to(at::kLong);
}

// Maximum bytes that a layer allocates in addition to its arguments.
template <typename Call>
int64_t workspace_of(const Call& call) {
  CountingAllocator& allocator = CountingAllocator::install();
  const int64_t before = allocator.held();
  allocator.begin();
  call();
  return allocator.max() - before;
}

// The shape of device_bytes.h, for a layer as the tests make it.
AttentionShape shape_of(const AttentionSizes& sizes, const AttentionOptions& options, bool other_targets,
                        bool share_weights) {
  return {.sources = sizes.sources,
          .targets = sizes.targets,
          .edges = sizes.edges,
          .features = sizes.features,
          .edge_features = sizes.edge_features,
          .heads = sizes.heads,
          .channels = sizes.channels,
          .dtype = at::kDouble,
          .other_targets = other_targets,
          .loops = options.loops,
          .keep_projection = options.keep_projection,
          .return_attention = options.return_attention,
          .share_weights = share_weights};
}

void expect_same(const at::Tensor& found, const at::Tensor& expected, const std::string& name) {
  ASSERT_EQ(found.defined(), expected.defined()) << name;
  if (!found.defined()) return;
  ASSERT_EQ(found.sizes(), expected.sizes()) << name;
  if (found.numel() == 0) return;
  EXPECT_LT((found - expected).abs().max().item<double>(), 1e-11) << name;
}

// Sums on a device have another order, so results differ by rounding.
void expect_close(const at::Tensor& found, const at::Tensor& expected, const std::string& name) {
  ASSERT_EQ(found.sizes(), expected.sizes()) << name;
  if (found.numel() == 0) return;
  const double size = std::max(expected.abs().max().item<double>(), 1.0);
  EXPECT_LT((found - expected).abs().max().item<double>(), 1e-11 * size) << name;
}

struct Case {
  bool bipartite = false;
  int64_t edge_features = 3;
  AttentionOptions options;
  bool own_targets = true;  // For GATv2, targets have their own weights.
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const bool bipartite : {false, true})
    for (const bool keep : {false, true})
      for (const int64_t features : {0, 3})
        for (const bool loops : {false, true})
          all.push_back({bipartite,
                         features,
                         {.heads = 2,
                          .slope = 0.1,
                          .loops = loops,
                          .fill = features == 0 ? LoopFill::zero : LoopFill::mean,
                          .dropout = keep ? 0.3 : 0,
                          .keep_projection = keep,
                          .return_attention = loops},
                         bipartite || keep});
  return all;
}

struct Graph {
  int64_t sources = 30;
  int64_t targets;
  at::Tensor edge_index, order, sorted;

  Graph(const Case& tested, int64_t edges) : targets(tested.bipartite ? 20 : 30) {
    edge_index = at::stack({indices(edges, sources, 1), indices(edges, targets, 2)});
    if (edges > 4) edge_index.select(0, 0).narrow(0, 0, 3).copy_(edge_index.select(0, 1).narrow(0, 0, 3));
    const bool drop = tested.options.loops && !tested.bipartite;
    order = edge_order(edge_index, sources, targets, !tested.bipartite, drop);
    sorted = sorted_edge_order(edge_index, sources, targets, drop);
  }
};

void fill_shared(AttentionTensors& in, const Case& tested, const Graph& graph, int64_t channels) {
  const int64_t width = tested.options.heads * channels;
  in.x = numbers({graph.sources, 5}, 3);
  in.weight = numbers({width, 5}, 4);
  in.order = graph.order;
  if (tested.edge_features > 0) in.edge_attr = numbers({graph.edge_index.size(1), tested.edge_features}, 5);
  in.bias = numbers({width}, 6);
  in.seed = at::tensor({int64_t{7}, int64_t{1}, int64_t{2}}, at::kLong);
  const at::Tensor nodes = at::arange(graph.targets, at::kLong);
  in.keys = at::stack({nodes % 3, nodes + 5, at::zeros_like(nodes)});
}

at::Tensor nan_like(const at::Tensor& tensor) {
  return tensor.defined() ? at::full_like(tensor, NAN) : tensor;
}

TEST(DeviceOrder, IsTheOneMadeOnTheHost) {
  for (const bool drop : {false, true})
    for (const int64_t edges : {0, 1, 200}) {
      const int64_t nodes = 30;
      at::Tensor index = at::stack({indices(edges, nodes, 1), indices(edges, nodes, 2)});
      if (edges > 100) index.select(0, 0).narrow(0, 50, 9).copy_(index.select(0, 1).narrow(0, 50, 9));
      const at::Tensor found = sorted_edge_order(index, nodes, nodes, drop);
      const at::Tensor expected = edge_order(index, nodes, nodes, false, drop);
      const int64_t kept = expected.select(0, kOrderKept).item<int>();
      ASSERT_EQ(found.sizes(), expected.sizes());
      // Numbers after the kept edges are not read, and only two numbers of piece_ptr are read.
      const int64_t arrays = kOrderHead + 2 * (nodes + 1);
      for (const auto& [begin, count] : {std::pair<int64_t, int64_t>{0, kOrderHead + nodes + 1 + 2},
                                         {arrays, kept},
                                         {arrays + edges, kept}})
        EXPECT_TRUE(found.narrow(0, begin, count).equal(expected.narrow(0, begin, count))) << begin;

      const EdgeOrder view =
          view_edge_order(expected.const_data_ptr<int32_t>(), expected.numel(), nodes, nodes, edges);
      at::Tensor buffer;
      const OutEdges host = out_edges(view, buffer);
      const DeviceOutEdges on_device = out_edges_on_device(found, nodes, nodes, edges);
      const OutEdges device = on_device.view();
      for (int64_t j = 0; j <= nodes; ++j) ASSERT_EQ(device.ptr[j], host.ptr[j]) << j;
      for (int64_t o = 0; o < kept; ++o) {
        ASSERT_EQ(device.position[o], host.position[o]) << o;
        ASSERT_EQ(device.target[o], host.target[o]) << o;
      }
    }
}

TEST(DeviceOrder, TakesNoNodesAndRefusesIndicesOutOfRange) {
  const at::Tensor none = at::empty({2, 0}, at::kLong);
  EXPECT_EQ(sorted_edge_order(none, 0, 0, true).numel(), edge_order_size(0, 0));
  const auto edge = [](int64_t from, int64_t to) { return at::tensor({from, to}, at::kLong).view({2, 1}); };
  EXPECT_EQ(sorted_edge_order(edge(2, 1), 3, 2, false).numel(), edge_order_size(2, 1));
  for (const auto& [from, to] : std::vector<std::pair<int64_t, int64_t>>{{3, 0}, {0, 2}, {-1, 0}, {0, -1}})
    EXPECT_THROW(sorted_edge_order(edge(from, to), 3, 2, false), InputError) << from << " " << to;
}

TEST(DeviceLayers, GatGivesWhatItGivesOnTheCpu) {
  for (const Case& tested : cases())
    for (const int64_t edges : {0, 90}) {
      SCOPED_TRACE(testing::Message() << "bipartite " << tested.bipartite << ", features "
                                      << tested.edge_features << ", loops " << tested.options.loops
                                      << ", kept " << tested.options.keep_projection << ", edges " << edges);
      const Graph graph(tested, edges);
      constexpr int64_t kChannels = 3;
      GatTensors in;
      fill_shared(in, tested, graph, kChannels);
      in.att_source = numbers({2, kChannels}, 7);
      if (tested.bipartite)
        in.target_score = numbers({graph.targets, 2}, 8);
      else
        in.att_target = numbers({2, kChannels}, 9);
      if (tested.edge_features > 0) in.q = numbers({tested.edge_features, 2}, 10);
      const GatOutput expected = gat_forward(in, tested.options);
      const AttentionSizes sizes{graph.sources, graph.targets, edges, 5, 2, kChannels, tested.edge_features};
      GatTensors on_device = in;
      on_device.order = graph.sorted;
      GatOutput found{nan_like(expected.out),
                      {nan_like(expected.saved.z), nan_like(expected.saved.s), expected.saved.t.clone(),
                       nan_like(expected.saved.highest), nan_like(expected.saved.scale),
                       at::zeros_like(expected.saved.alpha)}};
      const AttentionShape shape = shape_of(sizes, tested.options, tested.bipartite, true);
      EXPECT_EQ(workspace_of([&] { gat_forward_on_device(on_device, sizes, tested.options, found); }),
                gat_device_workspace(shape));
      expect_same(found.out, expected.out, "out");
      expect_same(found.saved.alpha, expected.saved.alpha, "alpha");
      expect_same(found.saved.s, expected.saved.s, "s");

      const at::Tensor grad = numbers({graph.targets, 2 * kChannels}, 11);
      const at::Tensor grad_alpha =
          tested.options.return_attention ? numbers(expected.saved.alpha.sizes(), 12) : at::Tensor();
      const GatInputGradients expected_gradients =
          gat_backward(grad, grad_alpha, in, expected.saved, tested.options, true, true);
      GatInputGradients to;
      for (at::Tensor GatInputGradients::*const each :
           {&GatInputGradients::x, &GatInputGradients::weight, &GatInputGradients::att_source,
            &GatInputGradients::att_target, &GatInputGradients::target_score, &GatInputGradients::q,
            &GatInputGradients::bias})
        if ((expected_gradients.*each).defined()) to.*each = nan_like(expected_gradients.*each);
      if (expected_gradients.edge_attr.defined()) to.edge_attr = at::zeros_like(expected_gradients.edge_attr);
      EXPECT_EQ(workspace_of([&] {
                  gat_backward_on_device(grad, grad_alpha, on_device, sizes, found.saved, tested.options, to);
                }),
                gat_backward_device_workspace(shape));
      expect_same(to.x, expected_gradients.x, "x");
      expect_same(to.weight, expected_gradients.weight, "weight");
      expect_same(to.att_source, expected_gradients.att_source, "att_source");
      expect_same(to.att_target, expected_gradients.att_target, "att_target");
      expect_same(to.target_score, expected_gradients.target_score, "target_score");
      expect_same(to.edge_attr, expected_gradients.edge_attr, "edge_attr");
      expect_same(to.q, expected_gradients.q, "q");
      expect_same(to.bias, expected_gradients.bias, "bias");
    }
}

TEST(DeviceLayers, Gatv2GivesWhatItGivesOnTheCpu) {
  for (const Case& tested : cases()) {
    SCOPED_TRACE(testing::Message() << "bipartite " << tested.bipartite << ", features "
                                    << tested.edge_features << ", loops " << tested.options.loops << ", kept "
                                    << tested.options.keep_projection);
    constexpr int64_t kEdges = 90;
    constexpr int64_t kChannels = 3;
    const Graph graph(tested, kEdges);
    Gatv2Tensors in;
    fill_shared(in, tested, graph, kChannels);
    in.weight_bias = numbers({2 * kChannels}, 7);
    if (tested.bipartite) in.x_target = numbers({graph.targets, 4}, 8);
    if (tested.own_targets) {
      in.target_weight = numbers({2 * kChannels, tested.bipartite ? 4 : 5}, 9);
      in.target_bias = numbers({2 * kChannels}, 10);
    }
    in.att = numbers({2, kChannels}, 11);
    if (tested.edge_features > 0) in.edge_weight = numbers({tested.edge_features, 2 * kChannels}, 12);
    const Gatv2Output expected = gatv2_forward(in, tested.options);
    const AttentionSizes sizes{graph.sources, graph.targets, kEdges, 5, 2, kChannels, tested.edge_features};
    Gatv2Tensors on_device = in;
    on_device.order = graph.sorted;
    Gatv2Output found{
        nan_like(expected.out),
        {nan_like(expected.saved.z), nan_like(expected.saved.z_target), nan_like(expected.saved.highest),
         nan_like(expected.saved.scale), at::zeros_like(expected.saved.alpha)}};
    const AttentionShape shape = shape_of(sizes, tested.options, tested.bipartite, !tested.own_targets);
    EXPECT_EQ(workspace_of([&] { gatv2_forward_on_device(on_device, sizes, tested.options, found); }),
              gatv2_device_workspace(shape));
    expect_same(found.out, expected.out, "out");
    expect_same(found.saved.alpha, expected.saved.alpha, "alpha");

    const at::Tensor grad = numbers({graph.targets, 2 * kChannels}, 13);
    const at::Tensor grad_alpha =
        tested.options.return_attention ? numbers(expected.saved.alpha.sizes(), 14) : at::Tensor();
    const Gatv2InputGradients expected_gradients =
        gatv2_backward(grad, grad_alpha, in, expected.saved, tested.options, true, true);
    Gatv2InputGradients to;
    for (at::Tensor Gatv2InputGradients::*const each :
         {&Gatv2InputGradients::x, &Gatv2InputGradients::weight, &Gatv2InputGradients::weight_bias,
          &Gatv2InputGradients::x_target, &Gatv2InputGradients::target_weight,
          &Gatv2InputGradients::target_bias, &Gatv2InputGradients::att, &Gatv2InputGradients::edge_weight,
          &Gatv2InputGradients::bias})
      if ((expected_gradients.*each).defined()) to.*each = nan_like(expected_gradients.*each);
    if (expected_gradients.edge_attr.defined()) to.edge_attr = at::zeros_like(expected_gradients.edge_attr);
    EXPECT_EQ(workspace_of([&] {
                gatv2_backward_on_device(grad, grad_alpha, on_device, sizes, found.saved, tested.options, to);
              }),
              gatv2_backward_device_workspace(shape));
    expect_same(to.x, expected_gradients.x, "x");
    expect_same(to.weight, expected_gradients.weight, "weight");
    expect_same(to.weight_bias, expected_gradients.weight_bias, "weight_bias");
    expect_same(to.x_target, expected_gradients.x_target, "x_target");
    expect_same(to.target_weight, expected_gradients.target_weight, "target_weight");
    expect_same(to.target_bias, expected_gradients.target_bias, "target_bias");
    expect_same(to.att, expected_gradients.att, "att");
    expect_same(to.edge_attr, expected_gradients.edge_attr, "edge_attr");
    expect_same(to.edge_weight, expected_gradients.edge_weight, "edge_weight");
    expect_same(to.bias, expected_gradients.bias, "bias");
  }
}

template <typename Call>
void expect_refused_dtype(const Call& call) {
  try {
    call();
    FAIL() << "no error";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("f32 or f64 on a CUDA device, found BFloat16"),
              std::string::npos)
        << error.what();
  }
}

TEST(DeviceLayers, RefuseBf16) {
  const at::Tensor x = numbers({3, 5}, 1).to(at::kBFloat16);
  GatTensors gat;
  gat.x = x;
  GatOutput gat_output;
  expect_refused_dtype([&] { gat_forward_on_device(gat, {}, {}, gat_output); });
  GatInputGradients gat_gradients;
  expect_refused_dtype([&] { gat_backward_on_device(x, {}, gat, {}, {}, {}, gat_gradients); });
  Gatv2Tensors gatv2;
  gatv2.x = x;
  Gatv2Output gatv2_output;
  expect_refused_dtype([&] { gatv2_forward_on_device(gatv2, {}, {}, gatv2_output); });
  Gatv2InputGradients gatv2_gradients;
  expect_refused_dtype([&] { gatv2_backward_on_device(x, {}, gatv2, {}, {}, {}, gatv2_gradients); });
  const at::Tensor ptr = at::tensor({int64_t{0}, int64_t{3}}, at::kLong);
  expect_refused_dtype([&] { segment_softmax_on_device(x, ptr); });
}

TEST(DeviceLayers, SegmentsGiveWhatTheyGiveOnTheCpu) {
  const at::Tensor ptr = at::tensor({int64_t{0}, int64_t{4}, int64_t{4}, int64_t{20}}, at::kLong);
  const at::Tensor x = numbers({20, 3}, 1);
  for (const char* const kind : {"sum", "mean", "max"}) {
    const at::Tensor out = segment_reduce(x, ptr, parse_word<Reduce>(kind, "kind"));
    expect_same(segment_reduce_on_device(x, ptr, kind), out, kind);
    EXPECT_EQ(segment_reduce_backward_on_device(out, x, out, ptr, kind).sizes(), x.sizes());
  }
  const at::Tensor each = numbers({3, 7}, 5);
  expect_same(gather_csr_on_device(each, ptr, 20), gather_csr_cpu(each, ptr, 20), "gather_csr");
  EXPECT_THROW(gather_csr_on_device(x, ptr, 20), UsageError);
  const at::Tensor softmax = segment_softmax(x, ptr);
  expect_same(segment_softmax_on_device(x, ptr), softmax, "softmax");
  EXPECT_EQ(segment_softmax_backward_on_device(x, softmax, ptr).sizes(), x.sizes());
  const at::Tensor weight = numbers({3}, 2);
  const at::Tensor bias = numbers({3}, 3);
  const at::Tensor scale = numbers({3}, 4);
  const auto [out, mean, r] = graph_norm_on_device(x, ptr, weight, bias, scale, 1e-5);
  expect_same(out, graph_norm(x, ptr, weight, bias, scale, 1e-5), "graph_norm");
  const auto [dx, dweight, dbias, dscale] = graph_norm_backward_on_device(x, x, ptr, weight, scale, mean, r);
  expect_same(dbias, x.sum(0), "dbias");
  EXPECT_THROW(segment_reduce_on_device(x, ptr.to(at::kInt), "sum"), UsageError);
  EXPECT_THROW(segment_reduce_on_device(x, ptr, "median"), UsageError);
}

TEST(DeviceLayers, AggregateGivesWhatItGivesOnTheCpu) {
  for (const bool loops : {false, true})
    for (const int64_t features : {1, 5, 40}) {
      const int64_t sources = 30;
      const int64_t targets = 17;
      const int64_t edges = 200;
      const at::Tensor index = at::stack({indices(edges, sources, 1), indices(edges, targets, 2)});
      const at::Tensor order = sorted_edge_order(index, sources, targets, !loops);
      const at::Tensor x = numbers({sources, features}, 3).set_requires_grad(true);
      const at::Tensor grad = numbers({targets, features}, 4);
      expect_same(in_degrees_on_device(order, sources, targets), in_degrees(order, sources, targets),
                  "degrees");
      for (const bool scaled : {false, true}) {
        const auto scale = [&](int64_t rows, double seed) {
          return scaled ? numbers({rows}, seed) : at::Tensor();
        };
        const at::Tensor of_source = scale(sources, 5);
        const at::Tensor of_target = scale(targets, 6);
        const at::Tensor of_edge = scale(edges, 7);
        const at::Tensor out = aggregate(x, order, of_source, of_target, targets, of_edge);
        expect_same(aggregate_on_device(x.detach(), order, maybe(of_source), maybe(of_target), targets,
                                        maybe(of_edge)),
                    out.detach(), "out");
        expect_same(aggregate_backward_on_device(grad, order, maybe(of_source), maybe(of_target), sources,
                                                 maybe(of_edge)),
                    torch::autograd::grad({out}, {x}, {grad})[0], "dx");
      }
    }
  const at::Tensor x = numbers({3, 2}, 1);
  EXPECT_THROW(aggregate_on_device(x, at::zeros({5}, at::kInt), {}, {}, {}, {}), UsageError);
}

TEST(DeviceLayers, EmbeddingRowsGiveTheGradientThatTheyGiveOnTheCpu) {
  constexpr int64_t kRows = 70;  // Needs more than one digit of the sort.
  for (const int64_t nodes : {0, 1, 40, 3000})
    for (const int64_t features : {1, 8, 40}) {
      SCOPED_TRACE(testing::Message() << nodes << " nodes, " << features << " features");
      at::Tensor ids = indices(nodes, kRows - 1, 1);  // No id is the last row.
      if (nodes > 1) ids.narrow(0, nodes / 2, nodes - nodes / 2).fill_(7);
      const at::Tensor grad = numbers({nodes, features}, 2);
      const at::Tensor weight = numbers({kRows, features}, 3).set_requires_grad(true);
      const at::Tensor out = embedding_rows(weight, ids);
      EXPECT_TRUE(at::equal(out, at::embedding(weight, ids)));
      at::Tensor found;
      const int64_t taken = workspace_of([&] { found = embedding_backward_on_device(grad, ids, kRows); });
      EXPECT_EQ(taken, static_cast<int64_t>(found.nbytes() + grad.nbytes()) +
                           embedding_backward_device_workspace(kRows, nodes));
      expect_close(found, torch::autograd::grad({out}, {weight}, {grad})[0], "weight");
      EXPECT_TRUE(at::equal(found, embedding_backward_on_device(grad.t().contiguous().t(), ids, kRows)));
    }
  const at::Tensor ids = indices(3, 2, 1);
  EXPECT_THROW(embedding_backward_on_device(numbers({4, 2}, 1), ids, 2), UsageError);
  EXPECT_THROW(embedding_backward_on_device(numbers({3, 2}, 1), ids.to(at::kInt), 2), UsageError);
}

TEST(DeviceLayers, LinearLossesGiveWhatTheyGiveOnTheCpu) {
  constexpr int64_t kFeatures = 5;
  const auto gradients = [](const auto& found) {
    return std::vector{std::get<1>(found), std::get<2>(found), std::get<3>(found)};
  };
  for (const int64_t classes : {1, 7, 100})
    for (const int64_t rows : {int64_t{0}, int64_t{1}, int64_t{300}, kDeviceLogitRows + 3}) {
      SCOPED_TRACE(testing::Message() << classes << " classes, " << rows << " rows");
      const at::Tensor x = numbers({rows, kFeatures}, 1) * 9;  // some logits are large
      const at::Tensor weight = numbers({classes, kFeatures}, 2);
      const at::Tensor bias = numbers({classes}, 3);
      const at::Tensor grad = numbers({rows}, 4);
      const auto compare = [&](const auto& found, const auto& expected_gradients) {
        for (size_t i = 0; i < 3; ++i) expect_close(found[i], expected_gradients[i], std::to_string(i));
      };
      const at::Tensor target = indices(rows, classes, 5);
      const auto cross = linear_cross_entropy_both_on_device(x, weight, bias, target);
      const auto cross_cpu = linear_cross_entropy_both_cpu(x, weight, bias, target);
      expect_close(std::get<0>(cross), std::get<0>(cross_cpu), "cross entropy");
      compare(gradients(cross), gradients(cross_cpu));
      expect_close(linear_cross_entropy_on_device(x, weight, bias, target), std::get<0>(cross),
                   "forward alone");
      const auto [a, b, c] = linear_cross_entropy_backward_on_device(grad, x, weight, bias, target);
      const auto [d, e, f] = linear_cross_entropy_backward_cpu(grad, x, weight, bias, target);
      compare(std::vector{a, b, c}, std::vector{d, e, f});

      // Rows with no class, with one, and with all.
      std::vector<int64_t> starts = {0};
      std::vector<int64_t> listed;
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t k = 0; k < (r % 3 == 0 ? 0 : r % 3 == 1 ? 1 : classes); ++k)
          listed.push_back(r % 3 == 1 ? r % classes : k);
        starts.push_back(static_cast<int64_t>(listed.size()));
      }
      const at::Tensor ptr = at::tensor(starts, at::kLong);
      const at::Tensor ids = at::tensor(listed, at::kLong);
      const auto bce = linear_multilabel_bce_both_on_device(x, weight, bias, ptr, ids);
      const auto bce_cpu = linear_multilabel_bce_both_cpu(x, weight, bias, ptr, ids);
      expect_close(std::get<0>(bce), std::get<0>(bce_cpu), "binary cross entropy");
      compare(gradients(bce), gradients(bce_cpu));
      expect_close(linear_multilabel_bce_on_device(x, weight, bias, ptr, ids), std::get<0>(bce),
                   "forward alone");
      const auto [g, h, i] = linear_multilabel_bce_backward_on_device(grad, x, weight, bias, ptr, ids);
      const auto [j, k, l] = linear_multilabel_bce_backward_cpu(grad, x, weight, bias, ptr, ids);
      compare(std::vector{g, h, i}, std::vector{j, k, l});

      const int64_t taken =
          workspace_of([&] { (void)linear_multilabel_bce_both_on_device(x, weight, bias, ptr, ids); });
      const int64_t given =
          (rows + rows * kFeatures + classes * kFeatures + classes) * int64_t{sizeof(double)};
      EXPECT_EQ(taken - given, linear_losses_device_workspace(classes, at::kDouble));
    }
}

TEST(DeviceLayers, EmbeddingRowsTakeTheSamePiecesForAnyNodes) {
  std::vector<TapeOf<2>> tapes;
  for (const int64_t nodes : {0, 1, 2, 17, 300, 3000}) {
    const at::Tensor ids = indices(nodes, 9, 1);
    const at::Tensor grad = numbers({nodes, 12}, 2).narrow(1, 0, 8);  // Contiguous if there is one row.
    tapes.push_back(
        {{1, nodes}, AllocationTape::record([&] { embedding_backward_on_device(grad, ids, 9); })});
  }
  expect_affine(tapes);
}

// Because of this, a plan knows the workspaces of any block exactly from a few small blocks.
TEST(DeviceLayers, WorkspacesAreAffineInNodesAndEdges) {
  const auto expect = [](const auto& bytes) {
    const int64_t at = bytes(1000, 5000);
    const int64_t a_node = bytes(1001, 5000) - at;
    const int64_t an_edge = bytes(1000, 5001) - at;
    for (const auto& [nodes, edges] :
         {std::pair<int64_t, int64_t>{1, 0}, {17, 31}, {333, 1021}, {50'001, 3'000'007}})
      EXPECT_EQ(bytes(nodes, edges), at + a_node * (nodes - 1000) + an_edge * (edges - 5000))
          << nodes << " nodes, " << edges << " edges";
  };
  for (const Case& tested : cases()) {
    const auto shape = [&](int64_t nodes, int64_t edges) {
      const AttentionSizes sizes{.sources = nodes,
                                 .targets = nodes,
                                 .edges = edges,
                                 .features = 5,
                                 .heads = 2,
                                 .channels = 3,
                                 .edge_features = tested.edge_features};
      return shape_of(sizes, tested.options, tested.bipartite, tested.own_targets);
    };
    expect([&](int64_t nodes, int64_t edges) { return gat_device_workspace(shape(nodes, edges)); });
    expect([&](int64_t nodes, int64_t edges) { return gat_backward_device_workspace(shape(nodes, edges)); });
    expect([&](int64_t nodes, int64_t edges) { return gatv2_device_workspace(shape(nodes, edges)); });
    expect(
        [&](int64_t nodes, int64_t edges) { return gatv2_backward_device_workspace(shape(nodes, edges)); });
  }
  expect([](int64_t nodes, int64_t edges) { return aggregate_backward_device_workspace(nodes, edges); });
  expect([](int64_t nodes, int64_t) { return embedding_backward_device_workspace(70, nodes); });
  expect([](int64_t segments, int64_t) { return graph_norm_backward_workspace(segments, 7); });
}

struct PathCase {
  PathDirection direction = PathDirection::both;
  PathOptions options;
};

TEST(DeviceLayers, PathMessagesGiveWhatTheyGiveOnTheCpu) {
  constexpr int64_t kNodes = 25;
  constexpr int64_t kHidden = 6;
  at::Tensor index = at::stack({indices(110, kNodes, 1), indices(110, kNodes, 2)});
  index.narrow(1, 0, 5).copy_(index.narrow(1, 5, 5));  // Parallel edges.
  const at::Tensor x = numbers({kNodes, kHidden}, 3);
  const at::Tensor grad = numbers({kNodes, kHidden}, 4);
  for (const PathCase& tested :
       {PathCase{PathDirection::both, {.tile = 64, .cutoff = 3}},
        PathCase{PathDirection::descendant, {.tile = 16, .cutoff = 3}},
        PathCase{PathDirection::both, {.tile = 65536, .cutoff = 3, .mode = PathMode::reference}},
        PathCase{PathDirection::both, {.tile = 64, .cutoff = 3, .distances_only = true}},
        PathCase{PathDirection::both, {.tile = 64, .cutoff = 3, .planar = true}}})
    for (const int64_t edges : {0, 110}) {
      SCOPED_TRACE(testing::Message() << "tile " << tested.options.tile << ", edges " << edges);
      at::Tensor pos = numbers({kNodes, 3}, 5);
      if (tested.options.planar) pos.select(1, 2).zero_();
      pos[3] = pos[2];  // Edges without length, and points on a line.
      pos[4] = pos[2] * 2 - pos[5];
      const PathEdges walked = path_edges(index.narrow(1, 0, edges), kNodes, tested.direction);
      const int64_t angles = tested.options.distances_only ? 0 : 4;
      const int64_t torsions = tested.options.distances_only ? 0 : 5;
      const std::array<int64_t, 3> inputs = {7, 7 + angles, 7 + angles + torsions};
      PathWeights weights;
      for (size_t w = 0; w < weights.size(); w += 2) {
        const int64_t out = w < 12 ? kHidden : w == kC1 ? 4 * kHidden : w == kC2 ? 2 * kHidden : kHidden;
        const int64_t in = w >= 12 ? (w == kC1   ? 7
                                      : w == kC2 ? 4
                                                 : 2) *
                                         kHidden
                           : w % 4 == 0 ? inputs[w / 4]
                                        : kHidden;
        weights[w] = numbers({out, in}, static_cast<double>(w) + 6) / std::sqrt(static_cast<double>(in));
        weights[w + 1] = numbers({out}, static_cast<double>(w) + 7);
      }
      const PathSizes sizes = check_path_layer(x, pos, weights, tested.options);
      at::Tensor out;
      EXPECT_LE(workspace_of([&] { out = path_message_on_device(x, pos, walked, weights, tested.options); }) -
                    static_cast<int64_t>(x.nbytes()),
                path_device_workspace(sizes, walked.target.numel(), false, sizeof(double)));
      expect_close(out, path_message_cpu(x, pos, walked, weights, tested.options), "out");
      const auto expected_gradients =
          path_message_backward_cpu(grad, x, pos, walked, weights, tested.options);
      const auto found = path_message_backward_on_device(grad, x, pos, walked, weights, tested.options);
      expect_close(found.first, expected_gradients.first, "x");
      for (size_t w = 0; w < weights.size(); ++w)
        expect_close(found.second[w], expected_gradients.second[w], kPathWeightNames[w]);
    }
  const PathEdges none = path_edges(index, kNodes, PathDirection::both);
  at::Tensor odd = numbers({kNodes, 3}, 5);
  odd[7][1] = NAN;
  PathWeights weights;
  for (at::Tensor& weight : weights) weight = x;
  EXPECT_THROW(path_message_on_device(x, odd, none, weights, {}), UsageError) << "weights";
}

}  // namespace
}  // namespace plimsoll
