#include "ops/gatv2/gatv2.h"

#include <ATen/CPUFunctions.h>
#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>

#include "kernels/gatv2/gatv2.h"
#include "ops/attention/attention_layer.h"
#include "ops/device_bytes.h"
#include "ops/gatv2/gatv2_gpu.h"
#include "ops/meta_tensors.h"

namespace plimsoll {
namespace {

AttentionSizes check(const Gatv2Tensors& in, const AttentionOptions& options) {
  if (in.x_target.defined()) {
    require(in.x_target.dim() == 2 && in.x_target.is_contiguous() &&
                in.x_target.scalar_type() == in.x.scalar_type() && in.x_target.device() == in.x.device(),
            "x_target [T, F2] of x's dtype, on x's device", in.x_target);
    require(in.target_weight.defined(), "target_weight if targets are other nodes", in.target_weight);
  }
  require(in.target_weight.defined() || !in.target_bias.defined(),
          "target_bias only together with target_weight", in.target_bias);
  const int64_t targets = in.x_target.defined() ? in.x_target.size(0) : in.x.size(0);
  const AttentionSizes sizes =
      check_attention(in, options, targets, in.edge_weight.defined() ? in.edge_weight.size(0) : 0);
  require_either(in.x, in.att, {sizes.heads, sizes.channels}, "att [H, D] of x's dtype");
  if (in.weight_bias.defined())
    require_like(in.x, in.weight_bias, {sizes.width()}, "weight_bias [H*D] of x's dtype");
  if (in.target_weight.defined())
    require_like(in.x, in.target_weight,
                 {sizes.width(), in.x_target.defined() ? in.x_target.size(1) : sizes.features},
                 "target_weight [H*D, F] of x's dtype");
  if (in.target_bias.defined())
    require_like(in.x, in.target_bias, {sizes.width()}, "target_bias [H*D] of x's dtype");
  if (in.edge_weight.defined())
    require_either(in.x, in.edge_weight, {sizes.edge_features, sizes.width()},
                   "edge_weight [K, H*D] of x's dtype");
  return sizes;
}

AttentionShape layer_shape(const Gatv2Tensors& in, const AttentionSizes& sizes,
                           const AttentionOptions& options) {
  AttentionShape shape = shape_of(in, sizes, options);
  shape.other_targets = in.x_target.defined();
  if (shape.other_targets) shape.target_features = in.x_target.size(1);
  shape.bias = in.weight_bias.defined();
  shape.share_weights = !in.target_weight.defined();
  return shape;
}

// Casts all small tensors to the type of sums.
Gatv2Tensors in_sums(Gatv2Tensors in) {
  const at::ScalarType dtype = sum_type(in.x.scalar_type());
  for (at::Tensor* const small : {&in.att, &in.edge_weight, &in.bias})
    if (small->defined()) *small = small->to(dtype);
  return in;
}

template <typename N>
using Gatv2Of = Gatv2<typename N::Sum, typename N::Stored>;
template <typename N>
using Gatv2GradientsOf = Gatv2Gradients<typename N::Sum, typename N::Stored>;
template <typename N>
using Gatv2KernelsOf = Gatv2Kernels<typename N::Sum, typename N::Stored>;

template <typename N>
const Gatv2KernelsOf<N>& kernels_of() {
  return gatv2_kernels<typename N::Sum, typename N::Stored>(kernel_level());
}

template <typename N>
Gatv2Of<N> layer_of(const Gatv2Tensors& in, const Gatv2Saved& saved, const AttentionSizes& sizes,
                    const AttentionOptions& options) {
  using T = typename N::Sum;
  using Stored = typename N::Stored;
  Gatv2Of<N> layer;
  fill_layer(layer, in, sizes, options);
  layer.z = read<Stored>(saved.z);
  layer.z_target = in.target_weight.defined() ? read<Stored>(saved.z_target) : layer.z;
  layer.edge_weight = read<T>(in.edge_weight);
  layer.att = read<T>(in.att);
  layer.highest = write<T>(saved.highest);
  layer.scale = write<T>(saved.scale);
  layer.alpha = write<T>(saved.alpha);
  return layer;
}

// Computes rows begin .. end-1 of x weight^T + bias.
void project(const at::Tensor& x, int64_t begin, int64_t end, const at::Tensor& weight,
             const at::Tensor& bias, const at::Tensor& out) {
  at::Tensor to = out;
  if (bias.defined())
    at::cpu::addmm_out(to, bias, x.narrow(0, begin, end - begin), weight.t());
  else
    at::cpu::mm_out(to, x.narrow(0, begin, end - begin), weight.t());
}

// The projections of a range of nodes, kept whole or in a buffer for one range.
struct Projections {
  at::Tensor z, z_target;
  bool whole;

  static Projections of_ranges(const Gatv2Tensors& in, const AttentionSizes& sizes, int64_t rows,
                               const at::TensorOptions& options) {
    const auto empty_rows = [&] { return at::empty({rows, sizes.width()}, options); };
    return {empty_rows(), in.target_weight.defined() ? empty_rows() : at::Tensor(), false};
  }

  template <typename T, typename Stored>
  void compute(const Gatv2Tensors& in, int64_t begin, int64_t end, Gatv2<T, Stored>& layer) const {
    const int64_t first = whole ? begin : 0;
    const int64_t shift = whole ? 0 : begin * layer.heads * layer.channels;
    project(in.x, begin, end, in.weight, in.weight_bias, z.narrow(0, first, end - begin));
    layer.z = read<Stored>(z) - shift;
    layer.z_target = layer.z;
    if (!in.target_weight.defined()) return;
    project(in.x, begin, end, in.target_weight, in.target_bias, z_target.narrow(0, first, end - begin));
    layer.z_target = read<Stored>(z_target) - shift;
  }
};

int64_t scratch_size(const EdgeOrder& order, const AttentionSizes& sizes) {
  return gatv2_scratch_size(order, sizes.heads, sizes.channels, sizes.edge_features);
}

// Computes whole projections if pieces are not closed or targets are other nodes.
template <typename T, typename Stored>
void project_all(const Gatv2Tensors& in, const AttentionSizes& sizes, Gatv2Saved& saved,
                 Gatv2<T, Stored>& layer) {
  const auto empty_rows = [&](int64_t rows) { return at::empty({rows, sizes.width()}, in.x.options()); };
  if (saved.z.size(0) != sizes.sources) saved.z = empty_rows(sizes.sources);
  multiply_all(in.x, in.weight.t(), in.weight_bias, saved.z);
  layer.z = layer.z_target = read<Stored>(saved.z);
  if (!in.target_weight.defined()) return;
  if (saved.z_target.size(0) != sizes.targets) saved.z_target = empty_rows(sizes.targets);
  multiply_all(in.x_target.defined() ? in.x_target : in.x, in.target_weight.t(), in.target_bias,
               saved.z_target);
  layer.z_target = read<Stored>(saved.z_target);
}

template <typename N>
void forward(const Gatv2Tensors& in, const AttentionSizes& sizes, const Gatv2Saved& saved, Gatv2Of<N> layer,
             bool keep) {
  using T = typename N::Sum;
  const Gatv2KernelsOf<N>& kernels = kernels_of<N>();
  const AttentionRanges ranges(layer.order);
  const bool closed = layer.order.closed && !in.x_target.defined();
  Gatv2Saved whole = saved;
  if (!closed) project_all(in, sizes, whole, layer);
  const int64_t largest = closed && !keep ? ranges.largest() : 0;
  over_ranges(ranges.count(), [&](int64_t first, int64_t last) {
    const at::Tensor scratch = at::empty({scratch_size(layer.order, sizes)}, sums_like(in.x));
    const Projections projections = keep ? Projections{saved.z, saved.z_target, true}
                                         : Projections::of_ranges(in, sizes, largest, in.x.options());
    Gatv2Of<N> mine = layer;
    for (int64_t r = first; r < last; ++r) {
      if (closed) projections.compute(in, ranges.begin(r), ranges.end(r), mine);
      kernels.forward(mine, ranges.begin(r), ranges.end(r), scratch.mutable_data_ptr<T>());
    }
  });
}

// The sums of one group of ranges, which are added in the order of groups.
struct Sums {
  at::Tensor weight, weight_bias, target_weight, target_bias, att, edge_weight, bias;

  Sums() = default;
  Sums(const Gatv2InputGradients& to, bool first, bool with_weights)
      : att(zero_sum(to.att, first)),
        edge_weight(zero_sum(to.edge_weight, first)),
        bias(zero_sum(to.bias, first)) {
    if (!with_weights) return;
    weight = zero_sum(to.weight, first);
    weight_bias = zero_sum(to.weight_bias, first);
    target_weight = zero_sum(to.target_weight, first);
    target_bias = zero_sum(to.target_bias, first);
  }

  template <typename T, typename Stored>
  void lend_to(Gatv2Gradients<T, Stored>& gradients) const {
    gradients.att = write<T>(att);
    gradients.edge_weight = write<T>(edge_weight);
    gradients.bias = write<T>(bias);
  }
};

void add_up_all(const std::vector<Sums>& groups, const Gatv2InputGradients& to) {
  add_up(groups, &Sums::weight, to.weight);
  add_up(groups, &Sums::weight_bias, to.weight_bias);
  add_up(groups, &Sums::target_weight, to.target_weight);
  add_up(groups, &Sums::target_bias, to.target_bias);
  add_up(groups, &Sums::att, to.att);
  add_up(groups, &Sums::edge_weight, to.edge_weight);
  add_up(groups, &Sums::bias, to.bias);
}

// Sums the rows of dz, rounded to the gradient's type.
void sum_rows(const at::Tensor& dz, const at::Tensor& gradient) {
  at::Tensor to = gradient;
  if (to.scalar_type() == dz.scalar_type())
    at::sum_out(to, dz, 0);
  else
    to.copy_(dz.sum(0));
}

template <typename N>
void backward_closed(const Gatv2Tensors& in, const AttentionSizes& sizes, const Gatv2Saved& saved,
                     const Gatv2Of<N>& layer, const Gatv2GradientsOf<N>& gradients,
                     const Gatv2InputGradients& to) {
  using T = typename N::Sum;
  const Gatv2KernelsOf<N>& kernels = kernels_of<N>();
  const AttentionRanges ranges(layer.order);
  const int64_t count = ranges.count();
  const int64_t groups = ranges.groups();
  const bool again = saved.z.size(0) == 0;
  const int64_t largest = ranges.largest();
  std::vector<Sums> sums(static_cast<size_t>(groups));
  over_ranges(groups, [&](int64_t first, int64_t last) {
    const at::Tensor scratch = at::empty({scratch_size(layer.order, sizes)}, sums_like(in.x));
    const Projections projections = Projections::of_ranges(in, sizes, again ? largest : 0, in.x.options());
    const Projections dz = Projections::of_ranges(in, sizes, largest, sums_like(in.x));
    const RoundedRows rounded(in.x, largest, sizes.width());
    for (int64_t g = first; g < last; ++g) {
      Sums& mine = sums[static_cast<size_t>(g)];
      mine = Sums(to, g == 0, true);
      Gatv2GradientsOf<N> grads = gradients;
      mine.lend_to(grads);
      for (int64_t r = g * count / groups; r < (g + 1) * count / groups; ++r) {
        const int64_t begin = ranges.begin(r);
        const int64_t rows = ranges.end(r) - begin;
        Gatv2Of<N> piece = layer;
        if (again) projections.compute(in, begin, begin + rows, piece);
        const at::Tensor dz_rows = dz.z.narrow(0, 0, rows).zero_();
        const at::Tensor x = in.x.narrow(0, begin, rows);
        grads.z = grads.z_target = dz.z.mutable_data_ptr<T>() - begin * sizes.width();
        at::Tensor dt_rows;
        if (in.target_weight.defined()) {
          dt_rows = dz.z_target.narrow(0, 0, rows).zero_();
          grads.z_target = dz.z_target.mutable_data_ptr<T>() - begin * sizes.width();
        }
        kernels.backward(piece, grads, begin, begin + rows, scratch.mutable_data_ptr<T>());
        const at::Tensor stored = rounded.round(dz_rows);
        if (to.x.defined()) multiply_rows(stored, 0, rows, in.weight, to.x.narrow(0, begin, rows));
        add_transposed_product(stored, x, mine.weight);
        if (mine.weight_bias.defined()) mine.weight_bias.add_(dz_rows.sum(0));
        if (!dt_rows.defined()) continue;
        const at::Tensor stored_target = rounded.round(dt_rows);
        if (to.x.defined()) to.x.narrow(0, begin, rows).addmm_(stored_target, in.target_weight);
        add_transposed_product(stored_target, x, mine.target_weight);
        if (mine.target_bias.defined()) mine.target_bias.add_(dt_rows.sum(0));
      }
    }
  });
  add_up_all(sums, to);
}

template <typename N>
void backward_open(const Gatv2Tensors& in, const AttentionSizes& sizes, Gatv2Saved saved, Gatv2Of<N> layer,
                   Gatv2GradientsOf<N> gradients, const Gatv2InputGradients& to) {
  using T = typename N::Sum;
  const Gatv2KernelsOf<N>& kernels = kernels_of<N>();
  const AttentionRanges ranges(layer.order);
  const auto options = sums_like(in.x);
  if (saved.z.size(0) == 0) project_all(in, sizes, saved, layer);
  at::Tensor buffer;
  const OutEdges edges = out_edges(layer.order, buffer);
  const at::Tensor handoff =
      at::empty({layer.order.edges + (layer.loops ? sizes.targets : 0), 2 * sizes.heads}, options);
  const at::Tensor dz = at::zeros({sizes.sources, sizes.width()}, options);
  const at::Tensor dz_target =
      in.target_weight.defined() ? at::zeros({sizes.targets, sizes.width()}, options) : dz;
  gradients.handoff = write<T>(handoff);
  gradients.z = write<T>(dz);
  gradients.z_target = write<T>(dz_target);
  std::vector<Sums> sums(static_cast<size_t>(std::max<int64_t>(ranges.count(), 1)));
  for (Sums& mine : sums) mine = Sums(to, &mine == sums.data(), false);
  const at::Tensor& x_target = in.x_target.defined() ? in.x_target : in.x;
  // All buffers are allocated together, so that the peak is the sum, not the maximum.
  const std::vector<at::Tensor> sum_buffers = transposed_buffers(dz, in.x);
  const std::vector<at::Tensor> target_buffers =
      in.x_target.defined() ? transposed_buffers(dz_target, x_target) : std::vector<at::Tensor>();
  over_ranges(ranges.count(), [&](int64_t first, int64_t last) {
    const at::Tensor scratch = at::empty({scratch_size(layer.order, sizes)}, options);
    for (int64_t r = first; r < last; ++r) {
      Gatv2GradientsOf<N> mine = gradients;
      sums[static_cast<size_t>(r)].lend_to(mine);
      kernels.backward(layer, mine, ranges.begin(r), ranges.end(r), scratch.mutable_data_ptr<T>());
    }
  });
  over_ranges(ranges.source_count(), [&](int64_t first, int64_t last) {
    const at::Tensor scratch = at::empty({scratch_size(layer.order, sizes)}, options);
    for (int64_t r = first; r < last; ++r)
      kernels.gather(layer, gradients, edges, r * AttentionRanges::kNodes, ranges.source_end(r),
                     scratch.mutable_data_ptr<T>());
  });
  add_up_all(sums, to);
  multiply_transposed(dz, in.x, sum_buffers, to.weight);
  if (in.weight_bias.defined()) sum_rows(dz, to.weight_bias);
  if (to.x.defined()) multiply_all(dz, in.weight, {}, to.x);
  if (!in.target_weight.defined()) return;
  multiply_transposed(dz_target, x_target, in.x_target.defined() ? target_buffers : sum_buffers,
                      to.target_weight);
  if (in.target_bias.defined()) sum_rows(dz_target, to.target_bias);
  if (in.x_target.defined()) {
    multiply_all(dz_target, in.target_weight, {}, to.x_target);
  } else if (to.x.defined()) {
    multiply_all(dz_target, in.target_weight, to.x, to.x);
  }
}

}  // namespace

Gatv2Output gatv2_forward(const Gatv2Tensors& given, const AttentionOptions& options) {
  const AttentionSizes sizes = check(given, options);
  const auto scores = [&] { return at::empty({sizes.targets, sizes.heads}, sums_like(given.x)); };
  const auto rows = [&](int64_t nodes) { return at::empty({nodes, sizes.width()}, given.x.options()); };
  const bool keep = options.keep_projection;
  Gatv2Output result;
  result.out = rows(sizes.targets);
  result.saved = {.z = rows(keep ? sizes.sources : 0),
                  .z_target = rows(keep && given.target_weight.defined() ? sizes.targets : 0),
                  .highest = scores(),
                  .scale = scores(),
                  .alpha = empty_alpha(given, sizes, options)};
  const WorkspaceScope workspace;
  const Gatv2Tensors in = in_sums(given);
  if (in.x.is_meta()) {
    const AttentionShape shape = layer_shape(in, sizes, options);
    if (MetaTensors::on_cuda())
      ask_for_workspace(in.x, gatv2_device_workspace(shape), 0);
    else
      ask_for_workspace(in.x, gatv2_bytes(shape).workspace, workspace_groups(shape));
    return result;
  }
  if (!in.x.is_cpu()) {
    gatv2_forward_on_device(in, sizes, options, result);
    return result;
  }
  with_numbers(in.x.scalar_type(), [&](auto numbers) {
    using N = decltype(numbers);
    Gatv2Of<N> layer = layer_of<N>(in, result.saved, sizes, options);
    layer.out = write<typename N::Stored>(result.out);
    forward<N>(in, sizes, result.saved, layer, keep);
  });
  return result;
}

Gatv2InputGradients gatv2_backward(const at::Tensor& grad_out, const at::Tensor& grad_alpha,
                                   const Gatv2Tensors& given, const Gatv2Saved& saved,
                                   const AttentionOptions& options, bool needs_x, bool needs_edge_attr) {
  const AttentionSizes sizes = check(given, options);
  Gatv2InputGradients to;
  if (needs_x) to.x = gradient_of(given.x);
  to.x_target = gradient_of(given.x_target);
  if (needs_edge_attr && given.edge_weight.defined()) to.edge_attr = gradient_of(given.edge_attr).zero_();
  to.weight = gradient_of(given.weight);
  to.weight_bias = gradient_of(given.weight_bias);
  to.target_weight = gradient_of(given.target_weight);
  to.target_bias = gradient_of(given.target_bias);
  to.att = gradient_of(given.att);
  to.edge_weight = gradient_of(given.edge_weight);
  to.bias = at::empty({sizes.width()}, given.bias.defined() ? given.bias.options() : given.x.options());

  const WorkspaceScope workspace;
  const Gatv2Tensors in = in_sums(given);
  const at::Tensor grad = grad_out.contiguous();
  const at::Tensor alpha = grad_alpha.defined() ? grad_alpha.contiguous() : at::Tensor();
  check_gradients(in, sizes, options, grad, alpha);
  check_kept_z(in, sizes, saved.z, sizes.sources, true);
  check_kept_z(in, sizes, saved.z_target, sizes.targets, saved.z.size(0) == 0 || !in.target_weight.defined());
  for (const at::Tensor* kept : {&saved.highest, &saved.scale})
    check_kept_scores(in, sizes, *kept, sizes.targets);
  if (in.x.is_meta()) {
    const AttentionShape shape = layer_shape(in, sizes, options);
    if (MetaTensors::on_cuda())
      ask_for_workspace(in.x, gatv2_backward_device_workspace(shape), 0);
    else
      ask_for_workspace(in.x, gatv2_backward_bytes(shape, needs_x, needs_edge_attr).workspace,
                        workspace_groups(shape));
    return to;
  }
  if (!in.x.is_cpu()) {
    gatv2_backward_on_device(grad, alpha, in, sizes, saved, options, to);
    return to;
  }
  with_numbers(in.x.scalar_type(), [&](auto numbers) {
    using N = decltype(numbers);
    Gatv2GradientsOf<N> gradients;
    gradients.out = read<typename N::Stored>(grad);
    gradients.alpha = read<typename N::Sum>(alpha);
    gradients.edge_attr = write<typename N::Stored>(to.edge_attr);
    const Gatv2Of<N> layer = layer_of<N>(in, saved, sizes, options);
    if (layer.order.closed && !in.x_target.defined())
      backward_closed<N>(in, sizes, saved, layer, gradients, to);
    else
      backward_open<N>(in, sizes, saved, layer, gradients, to);
  });
  return to;
}

}  // namespace plimsoll
