#include "ops/aggregate/aggregate.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "base/error.h"
#include "kernels/aggregate/aggregate.h"
#include "memory/slab.h"
#include "ops/aggregate/aggregate_gpu.h"
#include "ops/attention/attention_layer.h"
#include "ops/autocast.h"
#include "ops/check.h"
#include "ops/device_bytes.h"
#include "ops/meta_tensors.h"
#include "ops/numbers.h"
#include "ops/operator.h"

namespace plimsoll {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Tensor = at::Tensor;
using Count = std::optional<int64_t>;
// Optional counts as the dispatcher passes them: symbolic if only shapes are computed, so that torch.compile
// generates code for all counts.
using SymCount = std::optional<c10::SymInt>;
using AggregateSignature = Tensor(const Tensor&, const Tensor&, const Optional&, const Optional&, SymCount,
                                  const Optional&);
using InDegreesSignature = Tensor(const Tensor&, c10::SymInt, c10::SymInt);

constexpr int64_t kGrain = 256;  // Number of rows that one thread processes at a time.

// Returns a view of the order. The number of edges from which it was made follows from its length.
EdgeOrder view(const Tensor& order, int64_t sources, int64_t targets) {
  require(order.dim() == 1 && order.scalar_type() == at::kInt && order.is_contiguous(), "order i32", order);
  const int64_t edges = edges_of_order(order.numel(), targets);
  return view_edge_order(order.const_data_ptr<int32_t>(), order.numel(), sources, targets,
                         std::max<int64_t>(edges, 0));
}

void check(const Tensor& x, int64_t sources, int64_t targets, const Optional& source_scale,
           const Optional& target_scale, const Tensor& order, const Optional& edge_scale) {
  require(x.dim() == 2 && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble),
          "x f32 or f64 [S, F]", x);
  if (sources < 0 || targets < 0)
    throw UsageError(fmt::format("aggregate: found {} sources and {} targets", sources, targets));
  if (source_scale) require_like(x, *source_scale, {sources}, "source_scale [S] of x's dtype");
  if (target_scale) require_like(x, *target_scale, {targets}, "target_scale [T] of x's dtype");
  if (edge_scale)
    require_like(x, *edge_scale, {edges_of_order(order.numel(), targets)},
                 "edge_scale [E] of x's dtype, E as in the order");
}

// The incoming edges of each row: the index of its first edge, the source rows of edges, and the indices of
// edges.
struct Entries {
  const int32_t* ptr;
  const int32_t* index;
  const int32_t* edge;
};

void run(const Tensor& x, const Entries& entries, const Optional& entry_scale, const Optional& edge_scale,
         const Optional& row_scale, const Tensor& out) {
  const Tensor entry_scales = plain(entry_scale);
  const Tensor edge_scales = plain(edge_scale);
  const Tensor row_scales = plain(row_scale);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "aggregate", [&] {
    const AggregateInput<scalar_t> in = {
        .x = read<scalar_t>(x),
        .ptr = entries.ptr,
        .index = entries.index,
        .edge = entries.edge,
        .entry_scale = read<scalar_t>(entry_scales),
        .edge_scale = read<scalar_t>(edge_scales),
        .row_scale = read<scalar_t>(row_scales),
        .features = x.size(1),
    };
    at::parallel_for(0, out.size(0), kGrain, [&](int64_t begin, int64_t end) {
      aggregate_kernel<scalar_t>(kernel_level())(in, begin, end, write<scalar_t>(out));
    });
  });
}

Tensor aggregate_cpu(const Tensor& input, const Tensor& order, const Optional& source_scale,
                     const Optional& target_scale, Count targets, const Optional& edge_scale) {
  check(input, input.size(0), targets.value_or(input.size(0)), source_scale, target_scale, order, edge_scale);
  const EdgeOrder edges = view(order, input.size(0), targets.value_or(input.size(0)));
  const Tensor out = at::empty({edges.targets, input.size(1)}, input.options());
  const WorkspaceScope workspace;
  const Tensor x = input.contiguous();
  run(x, {edges.in_ptr, edges.source, edges.edge}, source_scale, edge_scale, target_scale, out);
  return out;
}

Tensor aggregate_backward_cpu(const Tensor& grad, const Tensor& order, const Optional& source_scale,
                              const Optional& target_scale, Count sources, const Optional& edge_scale) {
  check(grad, sources.value_or(grad.size(0)), grad.size(0), source_scale, target_scale, order, edge_scale);
  const EdgeOrder edges = view(order, sources.value_or(grad.size(0)), grad.size(0));
  const Tensor dx = at::empty({edges.sources, grad.size(1)}, grad.options());
  const WorkspaceScope workspace;
  const Tensor dout = grad.contiguous();
  Tensor buffer;
  const OutEdges out_edge = out_edges(edges, buffer);
  // Positions in the order are replaced by indices of edges.
  int32_t* const edge =
      buffer.mutable_data_ptr<int32_t>() + (out_edge.position - buffer.const_data_ptr<int32_t>());
  if (edge_scale)
    for (int64_t p = 0; p < edges.edges; ++p) edge[p] = edges.edge[out_edge.position[p]];
  run(dout, {out_edge.ptr, out_edge.target, edge}, target_scale, edge_scale, source_scale, dx);
  return dx;
}

Tensor empty_rows(const Tensor& like, const SymCount& rows) {
  return at::empty_symint({rows.value_or(like.sym_size(0)), like.sym_size(1)}, like.options());
}

Tensor aggregate_meta(const Tensor& x, const Tensor&, const Optional&, const Optional&, SymCount targets,
                      const Optional&) {
  Tensor out = empty_rows(x, targets);
  const WorkspaceScope workspace;
  if (MetaTensors::active()) x.contiguous();
  return out;
}

Tensor aggregate_backward_meta(const Tensor& grad, const Tensor& order, const Optional&, const Optional&,
                               SymCount sources, const Optional&) {
  Tensor dx = empty_rows(grad, sources);
  const WorkspaceScope workspace;
  if (MetaTensors::active()) {
    const Tensor dout = grad.contiguous();
    const int64_t edges = MetaTensors::edges_of(order.numel(), grad.size(0));
    if (MetaTensors::on_cuda()) {
      ask_for_workspace(dout, aggregate_backward_device_workspace(dx.size(0), edges), 0);
      return dx;
    }
    at::empty({dx.size(0) + 1 + 2 * edges}, dout.options().dtype(at::kInt));  // Buffer of out_edges().
  }
  return dx;
}

class AggregateFunction : public torch::autograd::Function<AggregateFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& order,
                        const Optional& source_scale, const Optional& target_scale, SymCount targets,
                        const Optional& edge_scale) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    static const auto op = find_operator<AggregateSignature>("plimsoll::aggregate");
    context->save_for_backward({order, kept(source_scale), kept(target_scale), kept(edge_scale)});
    context->saved_data["sources"] = targets ? SymCount(x.sym_size(0)) : std::nullopt;
    return op.call(x, order, source_scale, target_scale, targets, edge_scale);
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list v = context->get_saved_variables();
    static const auto op = find_operator<AggregateSignature>("plimsoll::aggregate_backward");
    return {op.call(grads[0], v[0], maybe(v[1]), maybe(v[2]),
                    context->saved_data["sources"].toOptional<c10::SymInt>(), maybe(v[3])),
            Tensor(),
            Tensor(),
            Tensor(),
            Tensor(),
            Tensor()};
  }
};

Tensor aggregate_autograd(const Tensor& x, const Tensor& order, const Optional& source_scale,
                          const Optional& target_scale, SymCount targets, const Optional& edge_scale) {
  for (const Optional* scale : {&source_scale, &target_scale, &edge_scale})
    if (*scale && (*scale)->requires_grad())
      throw UsageError("aggregate: scales have no gradients; multiply x or the result instead");
  return AggregateFunction::apply(x, order, source_scale, target_scale, targets, edge_scale);
}

// Sums of many rows are computed in float32 under autocast.
template <c10::DeviceType kDevice>
Tensor aggregate_autocast(const Tensor& x, const Tensor& order, const Optional& source_scale,
                          const Optional& target_scale, SymCount targets, const Optional& edge_scale) {
  const Autocast cast(kDevice);
  const auto full = [&](const Optional& scale) { return scale ? Optional(cast.full(*scale)) : std::nullopt; };
  static const auto op = find_operator<AggregateSignature>("plimsoll::aggregate");
  return op.call(cast.full(x), order, full(source_scale), full(target_scale), targets, full(edge_scale));
}

Tensor aggregate_backward_autograd(const Tensor& grad, const Tensor& order, const Optional& source_scale,
                                   const Optional& target_scale, SymCount sources,
                                   const Optional& edge_scale) {
  const auto made = [&] {
    const at::AutoDispatchBelowADInplaceOrView guard;
    static const auto op = find_operator<AggregateSignature>("plimsoll::aggregate_backward");
    return op.call(grad, order, source_scale, target_scale, sources, edge_scale);
  };
  Tensor dx = made();
  auto list = std::tie(dx);
  refuse_second_derivatives(list, {grad});
  return dx;
}

Tensor in_degrees_cpu(const Tensor& order, int64_t sources, int64_t targets) {
  Tensor degrees = at::empty({targets}, order.options().dtype(at::kFloat));
  const EdgeOrder edges = view(order, sources, targets);
  float* const out = degrees.mutable_data_ptr<float>();
  for (int64_t i = 0; i < targets; ++i) out[i] = static_cast<float>(edges.in_ptr[i + 1] - edges.in_ptr[i]);
  return degrees;
}

Tensor in_degrees_meta(const Tensor& order, c10::SymInt /*sources*/, c10::SymInt targets) {
  Tensor degrees = at::empty_symint({targets}, order.options().dtype(at::kFloat));
  if (MetaTensors::on_cuda()) {
    const WorkspaceScope workspace;
    ask_for_workspace(degrees, targets.expect_int() * int64_t{sizeof(int32_t)}, 0);
  }
  return degrees;
}

}  // namespace

Tensor aggregate(const Tensor& x, const Tensor& order, const Tensor& source_scale, const Tensor& target_scale,
                 Count targets, const Tensor& edge_scale) {
  static const auto op = find_operator<AggregateSignature>("plimsoll::aggregate");
  return op.call(x, order, maybe(source_scale), maybe(target_scale), targets, maybe(edge_scale));
}

Tensor in_degrees(const Tensor& order, int64_t sources, int64_t targets) {
  static const auto op = find_operator<InDegreesSignature>("plimsoll::in_degrees");
  return op.call(order, sources, targets);
}

TORCH_LIBRARY_FRAGMENT(plimsoll, m) {
  m.def(
      "aggregate(Tensor x, Tensor order, Tensor? source_scale=None, Tensor? target_scale=None, "
      "SymInt? targets=None, Tensor? edge_scale=None) -> Tensor");
  m.def(
      "aggregate_backward(Tensor grad, Tensor order, Tensor? source_scale, Tensor? target_scale, "
      "SymInt? sources=None, Tensor? edge_scale=None) -> Tensor");
  m.def("in_degrees(Tensor order, SymInt sources, SymInt targets) -> Tensor");
}
TORCH_LIBRARY_IMPL(plimsoll, CPU, m) {
  m.impl("in_degrees", in_degrees_cpu);
  m.impl("aggregate", aggregate_cpu);
  m.impl("aggregate_backward", aggregate_backward_cpu);
}
TORCH_LIBRARY_IMPL(plimsoll, CUDA, m) {
  m.impl("in_degrees", in_degrees_on_device);
  m.impl("aggregate", aggregate_on_device);
  m.impl("aggregate_backward", aggregate_backward_on_device);
}
TORCH_LIBRARY_IMPL(plimsoll, Meta, m) {
  m.impl("in_degrees", in_degrees_meta);
  m.impl("aggregate", aggregate_meta);
  m.impl("aggregate_backward", aggregate_backward_meta);
}
TORCH_LIBRARY_IMPL(plimsoll, Autograd, m) {
  m.impl("aggregate", aggregate_autograd);
  m.impl("aggregate_backward", aggregate_backward_autograd);
}
TORCH_LIBRARY_IMPL(plimsoll, AutocastCPU, m) {
  m.impl("aggregate", aggregate_autocast<c10::DeviceType::CPU>);
}
TORCH_LIBRARY_IMPL(plimsoll, AutocastCUDA, m) {
  m.impl("aggregate", aggregate_autocast<c10::DeviceType::CUDA>);
}

}  // namespace plimsoll
