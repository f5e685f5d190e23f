#include "ops/attention.h"

#include <ATen/CPUFunctions.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "base/error.h"
#include "ops/device_order.h"

// Intel's MKL, where torch is built with it.
extern "C" __attribute__((weak)) int MKL_Set_Num_Threads_Local(int threads);

namespace plimsoll {

OneProductThread::OneProductThread() {
  if (MKL_Set_Num_Threads_Local != nullptr) before_ = MKL_Set_Num_Threads_Local(1);
}

OneProductThread::~OneProductThread() {
  if (MKL_Set_Num_Threads_Local != nullptr) MKL_Set_Num_Threads_Local(before_);
}

at::Tensor edge_order(const at::Tensor& edge_index, int64_t sources, int64_t targets, bool same_nodes,
                      bool drop_loops) {
  require(edge_index.scalar_type() == at::kLong && edge_index.dim() == 2 && edge_index.size(0) == 2,
          "edge_index i64 [2, E]", edge_index);
  if (sources < 0 || targets < 0 || (same_nodes && sources != targets))
    throw UsageError(
        fmt::format("edge_order: {} sources and {} targets cannot be the same nodes", sources, targets));
  if (!edge_index.is_cpu()) return sorted_edge_order(edge_index, sources, targets, drop_loops);
  const at::Tensor index = edge_index.contiguous();
  const int64_t edges = index.size(1);
  const at::Tensor order = at::empty({edge_order_size(targets, edges)}, index.options().dtype(at::kInt));
  const int64_t* const source = index.const_data_ptr<int64_t>();
  make_edge_order(source, source + edges, edges, sources, targets, same_nodes, drop_loops,
                  order.mutable_data_ptr<int32_t>());
  return order;
}

void require(bool ok, const char* expected, const at::Tensor& found) {
  if (ok) return;
  if (!found.defined()) throw UsageError(fmt::format("attention: expected {}, found none", expected));
  throw UsageError(fmt::format("attention: expected {}, found {} of shape [{}]{}", expected,
                               c10::toString(found.scalar_type()), fmt::join(found.sizes(), ", "),
                               found.is_contiguous() ? "" : ", not contiguous"));
}

void require_like(const at::Tensor& x, const at::Tensor& tensor, at::IntArrayRef shape,
                  const char* expected) {
  require(tensor.defined() && tensor.scalar_type() == x.scalar_type() && tensor.sizes() == shape &&
              tensor.is_contiguous() && tensor.device() == x.device(),
          expected, tensor);
}

AttentionSizes check_attention(const AttentionTensors& in, const AttentionOptions& options, int64_t targets,
                               int64_t edge_features) {
  const at::Tensor& x = in.x;
  require(
      x.dim() == 2 && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble) && x.is_contiguous(),
      "x f32 or f64 [S, F]", x);
  require(options.heads > 0 && in.weight.dim() == 2 && in.weight.size(0) % options.heads == 0,
          "weight [H*D, F] with the number of heads given", in.weight);
  require(in.order.scalar_type() == at::kInt && in.order.dim() == 1 && in.order.is_contiguous() &&
              in.order.numel() >= edge_order_size(targets, 0) && in.order.device() == x.device(),
          "order i32 as edge_order() makes it for these nodes, on x's device", in.order);
  const AttentionSizes sizes{.sources = x.size(0),
                             .targets = targets,
                             .edges = edges_of_order(in.order.numel(), targets),
                             .features = x.size(1),
                             .heads = options.heads,
                             .channels = in.weight.size(0) / options.heads,
                             .edge_features = edge_features};
  require_like(x, in.weight, {sizes.width(), sizes.features}, "weight [H*D, F] of x's dtype");
  if (edge_features > 0)
    require_like(x, in.edge_attr, {sizes.edges, edge_features},
                 "edge_attr [E, K] of x's dtype, E and K as elsewhere");
  else
    require(!in.edge_attr.defined(), "edge_attr only together with the weights of edge features",
            in.edge_attr);
  if (in.bias.defined()) require_like(x, in.bias, {sizes.width()}, "bias [H*D] of x's dtype");
  if (options.fill != "zero" && options.fill != "mean" && options.fill != "value")
    throw UsageError("attention: fill '" + options.fill + "' is not zero, mean or value");
  if (options.loops && sizes.sources < targets)
    throw UsageError("attention: self-loops need a source for every target");
  if (!(options.dropout >= 0 && options.dropout < 1))
    throw UsageError("attention: dropout must lie in [0, 1)");
  if (options.dropout > 0)
    require(in.seed.defined() && in.seed.scalar_type() == at::kLong && in.seed.numel() == 3 &&
                in.seed.is_contiguous() && in.seed.is_cpu(),
            "seed i64 [3] on the CPU: seed, layer, epoch", in.seed);
  if (options.dropout > 0) {
    const int64_t* const seed = in.seed.const_data_ptr<int64_t>();
    if (seed[1] < 0 || seed[1] > 65535 || seed[2] < 0 || seed[2] > 4294967295)
      throw UsageError(
          fmt::format("attention: layer {} must be below 65536 and epoch {} below 2^32", seed[1], seed[2]));
  }
  if (in.keys.defined())
    require(in.keys.scalar_type() == at::kLong && in.keys.dim() == 2 && in.keys.size(0) == 3 &&
                in.keys.size(1) == targets && in.keys.is_contiguous() && in.keys.device() == x.device(),
            "keys i64 [3, T] on x's device", in.keys);
  return sizes;
}

void check_kept(const AttentionTensors& in, const at::Tensor& kept, int64_t rows, int64_t columns,
                bool optional) {
  if (optional && kept.size(0) == 0) return;
  require_like(in.x, kept, {rows, columns}, "what forward kept for these inputs");
}

void check_gradients(const AttentionTensors& in, const AttentionSizes& sizes, const AttentionOptions& options,
                     const at::Tensor& out, const at::Tensor& alpha) {
  require_like(in.x, out, {sizes.targets, sizes.width()}, "the gradient of out [T, H*D] of x's dtype");
  if (alpha.defined())
    require_like(in.x, alpha, {sizes.edges + (options.loops ? sizes.targets : 0), sizes.heads},
                 "the gradient of alpha [E (+ T), H] of x's dtype");
}

OutEdges out_edges(const EdgeOrder& order, at::Tensor& room) {
  room = at::empty({order.sources + 1 + 2 * order.edges}, at::kInt);
  int32_t* const ptr = room.mutable_data_ptr<int32_t>();
  int32_t* const position = ptr + order.sources + 1;
  int32_t* const target = position + order.edges;
  transpose_edge_order(order, ptr, position, target);
  return {ptr, position, target};
}

void multiply_all(const at::Tensor& a, const at::Tensor& b, const at::Tensor& c, const at::Tensor& out) {
  constexpr int64_t kRows = AttentionRanges::kNodes;
  const int64_t rows = a.size(0);
  over_ranges((rows + kRows - 1) / kRows, [&](int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r) {
      const int64_t begin = r * kRows;
      const int64_t count = std::min(kRows, rows - begin);
      at::Tensor to = out.narrow(0, begin, count);
      if (c.defined())
        at::cpu::addmm_out(to, c.dim() == 2 ? c.narrow(0, begin, count) : c, a.narrow(0, begin, count), b);
      else
        at::cpu::mm_out(to, a.narrow(0, begin, count), b);
    }
  });
}

at::Tensor multiply_transposed(const at::Tensor& a, const at::Tensor& b) {
  constexpr int64_t kMostGroups = 8;
  const int64_t rows = a.size(0);
  const int64_t groups = std::clamp<int64_t>(rows / AttentionRanges::kNodes, 1, kMostGroups);
  std::vector<at::Tensor> sums(static_cast<size_t>(groups));
  over_ranges(groups, [&](int64_t first, int64_t last) {
    for (int64_t g = first; g < last; ++g) {
      const int64_t begin = g * rows / groups;
      const int64_t count = (g + 1) * rows / groups - begin;
      sums[static_cast<size_t>(g)] = at::cpu::mm(a.narrow(0, begin, count).t(), b.narrow(0, begin, count));
    }
  });
  for (size_t g = 1; g < sums.size(); ++g) sums[0].add_(sums[g]);
  return sums[0];
}

void multiply_rows(const at::Tensor& a, int64_t begin, int64_t end, const at::Tensor& b,
                   const at::Tensor& out) {
  at::Tensor to = out;
  at::cpu::mm_out(to, a.narrow(0, begin, end - begin), b);
}

}  // namespace plimsoll
