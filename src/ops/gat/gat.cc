#include "ops/gat/gat.h"

#include <ATen/CPUFunctions.h>
#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <type_traits>

#include "kernels/gat/gat.h"
#include "ops/attention/attention_layer.h"
#include "ops/device_bytes.h"
#include "ops/gat/gat_gpu.h"
#include "ops/meta_tensors.h"

namespace plimsoll {
namespace {

AttentionSizes check(const GatTensors& in, const AttentionOptions& options) {
  require(in.att_target.defined() || (in.target_score.defined() && in.target_score.dim() == 2),
          "att_target, or target_score [T, H] if targets are other nodes than sources", in.target_score);
  const AttentionSizes sizes =
      check_attention(in, options, in.att_target.defined() ? in.x.size(0) : in.target_score.size(0),
                      in.q.defined() ? in.q.size(0) : 0);
  require_either(in.x, in.att_source, {sizes.heads, sizes.channels}, "att_source [H, D] of x's dtype");
  if (in.att_target.defined())
    require_either(in.x, in.att_target, {sizes.heads, sizes.channels}, "att_target [H, D] of x's dtype");
  else
    require_either(in.x, in.target_score, {sizes.targets, sizes.heads}, "target_score [T, H] of x's dtype");
  if (in.q.defined()) require_either(in.x, in.q, {sizes.edge_features, sizes.heads}, "q [K, H] of x's dtype");
  return sizes;
}

AttentionShape layer_shape(const GatTensors& in, const AttentionSizes& sizes,
                           const AttentionOptions& options) {
  AttentionShape shape = shape_of(in, sizes, options);
  shape.other_targets = !in.att_target.defined();
  return shape;
}

// Casts all small tensors to the type of sums.
GatTensors in_sums(GatTensors in) {
  const at::ScalarType dtype = sum_type(in.x.scalar_type());
  for (at::Tensor* const small : {&in.att_source, &in.att_target, &in.target_score, &in.q, &in.bias})
    if (small->defined()) *small = small->to(dtype);
  return in;
}

template <typename N>
using GatOf = Gat<typename N::Sum, typename N::Stored>;
template <typename N>
using GatKernelsOf = GatKernels<typename N::Sum, typename N::Stored>;

template <typename N>
const GatKernelsOf<N>& kernels_of() {
  return gat_kernels<typename N::Sum, typename N::Stored>(kernel_level());
}

template <typename N>
GatOf<N> layer_of(const GatTensors& in, const GatSaved& saved, const AttentionSizes& sizes,
                  const AttentionOptions& options) {
  using T = typename N::Sum;
  GatOf<N> layer;
  fill_layer(layer, in, sizes, options);
  layer.z = read<typename N::Stored>(saved.z);
  layer.q = read<T>(in.q);
  layer.s = read<T>(saved.s);
  layer.t = read<T>(saved.t);
  layer.highest = write<T>(saved.highest);
  layer.scale = write<T>(saved.scale);
  layer.alpha = write<T>(saved.alpha);
  return layer;
}

template <typename T>
ScorePair<const T> attention_of(const GatTensors& in) {
  return {read<T>(in.att_source), read<T>(in.att_target)};
}

// Returns W a for each head, [H, F], in the type of sums.
at::Tensor fold(const at::Tensor& weight, const at::Tensor& att) {
  const OneProductThread one_thread;
  const int64_t heads = att.size(0);
  return at::bmm(att.unsqueeze(1), weight.to(att.scalar_type()).view({heads, att.size(1), weight.size(1)}))
      .view({heads, weight.size(1)});
}

// Computes scores from x if z is rounded, because <x W, a> of a rounded x W is not exact. Near 0, rounding
// could change the branch of LeakyReLU, which is visible in gradients that are small remainders of a
// cancellation.
void precise_scores(const GatTensors& in, const AttentionSizes& sizes, const GatSaved& saved) {
  const at::Tensor source = fold(in.weight, in.att_source);
  const at::Tensor folded =
      in.att_target.defined() ? at::cat({source, fold(in.weight, in.att_target)}) : source;
  over_ranges((sizes.sources + kProductRows - 1) / kProductRows, [&](int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r) {
      const int64_t begin = r * kProductRows;
      const int64_t count = std::min(kProductRows, sizes.sources - begin);
      const at::Tensor both = at::cpu::mm(in.x.narrow(0, begin, count).to(folded.scalar_type()), folded.t());
      saved.s.narrow(0, begin, count).copy_(both.narrow(1, 0, sizes.heads));
      if (in.att_target.defined())
        saved.t.narrow(0, begin, count).copy_(both.narrow(1, sizes.heads, sizes.heads));
    }
  });
}

template <typename N>
constexpr bool rounds() {
  return !std::is_same_v<typename N::Sum, typename N::Stored>;
}

template <typename N>
void forward_closed(const GatTensors& in, const AttentionSizes& sizes, const GatOf<N>& layer,
                    const GatSaved& saved, bool keep) {
  using T = typename N::Sum;
  const GatKernelsOf<N>& kernels = kernels_of<N>();
  const AttentionRanges ranges(layer.order);
  const int64_t width = sizes.width();
  const int64_t largest = keep ? 0 : ranges.largest();
  const at::Tensor projection = in.weight.t();
  over_ranges(ranges.count(), [&](int64_t first, int64_t last) {
    const at::Tensor scratch = at::empty({gat_scratch_size(layer.order, sizes.heads)}, sums_like(in.x));
    const at::Tensor piece_z = keep ? saved.z : at::empty({largest, width}, in.x.options());
    GatOf<N> mine = layer;
    for (int64_t r = first; r < last; ++r) {
      const int64_t begin = ranges.begin(r);
      const int64_t end = ranges.end(r);
      multiply_rows(in.x, begin, end, projection, piece_z.narrow(0, keep ? begin : 0, end - begin));
      mine.z = read<typename N::Stored>(piece_z) - (keep ? 0 : begin * width);
      if constexpr (!rounds<N>()) {
        kernels.scores(mine.z, attention_of<T>(in), sizes.heads, sizes.channels, begin, end,
                       {write<T>(saved.s), write<T>(saved.t)});
      }
      kernels.forward(mine, begin, end, scratch.mutable_data_ptr<T>());
    }
  });
}

template <typename N>
void forward_open(const GatTensors& in, const AttentionSizes& sizes, GatOf<N> layer, const GatSaved& saved) {
  using T = typename N::Sum;
  const GatKernelsOf<N>& kernels = kernels_of<N>();
  const at::Tensor z = saved.z.size(0) > 0 || sizes.sources == 0
                           ? saved.z
                           : at::empty({sizes.sources, sizes.heads * sizes.channels}, in.x.options());
  multiply_all(in.x, in.weight.t(), {}, z);
  layer.z = read<typename N::Stored>(z);
  if constexpr (!rounds<N>())
    at::parallel_for(0, sizes.sources, AttentionRanges::kNodes, [&](int64_t begin, int64_t end) {
      kernels.scores(layer.z, attention_of<T>(in), sizes.heads, sizes.channels, begin, end,
                     {write<T>(saved.s), write<T>(saved.t)});
    });
  const AttentionRanges ranges(layer.order);
  over_ranges(ranges.count(), [&](int64_t first, int64_t last) {
    const at::Tensor scratch = at::empty({gat_scratch_size(layer.order, sizes.heads)}, sums_like(in.x));
    for (int64_t r = first; r < last; ++r)
      kernels.forward(layer, ranges.begin(r), ranges.end(r), scratch.mutable_data_ptr<T>());
  });
}

template <typename N>
struct Backward {
  using T = typename N::Sum;
  using Stored = typename N::Stored;

  const GatTensors& in;
  const AttentionSizes& sizes;
  const GatSaved& saved;
  const GatKernels<T, Stored>& kernels;
  Gat<T, Stored> layer;
  GatGradients<T, Stored> gradients;
  GatInputGradients& to;
  int64_t width = sizes.width();

  // The sums of one group of ranges, which are added in the order of groups.
  struct Sums {
    at::Tensor weight, att_source, att_target, q, bias;
  };

  Sums zero_sums(bool first, bool with_weight) const {
    return {with_weight ? zero_sum(to.weight, first) : at::Tensor(), zero_sum(to.att_source, first),
            zero_sum(to.att_target, first), zero_sum(to.q, first), zero_sum(to.bias, first)};
  }

  void add_up_all(const std::vector<Sums>& groups) {
    add_up(groups, &Sums::weight, to.weight);
    add_up(groups, &Sums::att_source, to.att_source);
    add_up(groups, &Sums::att_target, to.att_target);
    add_up(groups, &Sums::q, to.q);
    add_up(groups, &Sums::bias, to.bias);
  }

  void closed(const at::Tensor& ds, const at::Tensor& dt) {
    const AttentionRanges ranges(layer.order);
    const int64_t count = ranges.count();
    const int64_t groups = ranges.groups();
    const int64_t largest = ranges.largest();
    const bool again = saved.z.size(0) == 0;
    std::vector<Sums> sums(static_cast<size_t>(groups));
    over_ranges(groups, [&](int64_t first, int64_t last) {
      const at::Tensor scratch = at::empty({gat_scratch_size(layer.order, sizes.heads)}, sums_like(in.x));
      const at::Tensor dz = at::empty({largest, width}, sums_like(in.x));
      const RoundedRows rounded(in.x, largest, width);
      const at::Tensor z = again ? at::empty({largest, width}, in.x.options()) : at::Tensor();
      for (int64_t g = first; g < last; ++g) {
        Sums& mine = sums[static_cast<size_t>(g)];
        mine = zero_sums(g == 0, true);
        for (int64_t r = g * count / groups; r < (g + 1) * count / groups; ++r)
          piece(ranges.begin(r), ranges.end(r), ds, dt, z, dz, rounded, scratch, mine);
      }
    });
    add_up_all(sums);
  }

  void piece(int64_t begin, int64_t end, const at::Tensor& ds, const at::Tensor& dt, const at::Tensor& z,
             const at::Tensor& dz, const RoundedRows& rounded, const at::Tensor& scratch, Sums& sums) {
    Gat<T, Stored> mine = layer;
    GatGradients<T, Stored> grads = gradients;
    if (z.defined()) {
      multiply_rows(in.x, begin, end, in.weight.t(), z.narrow(0, 0, end - begin));
      mine.z = read<Stored>(z) - begin * width;
    }
    const at::Tensor dz_rows = dz.narrow(0, 0, end - begin);
    dz_rows.zero_();
    grads.z = dz.mutable_data_ptr<T>() - begin * width;
    grads.q = write<T>(sums.q);
    grads.bias = write<T>(sums.bias);
    kernels.backward(mine, grads, begin, end, scratch.mutable_data_ptr<T>());
    kernels.scores_backward(mine.z, attention_of<T>(in), {read<T>(ds), read<T>(dt)}, sizes.heads,
                            sizes.channels, begin, end, grads.z,
                            {write<T>(sums.att_source), write<T>(sums.att_target)});
    const at::Tensor stored = rounded.round(dz_rows);
    if (to.x.defined()) multiply_rows(stored, 0, end - begin, in.weight, to.x.narrow(0, begin, end - begin));
    add_transposed_product(stored, in.x.narrow(0, begin, end - begin), sums.weight);
  }

  void open(const at::Tensor& ds, const at::Tensor& dt) {
    const auto options = sums_like(in.x);
    const EdgeOrder& order = layer.order;
    const AttentionRanges ranges(order);
    at::Tensor z;
    if (saved.z.size(0) == 0) {
      z = at::empty({sizes.sources, width}, in.x.options());
      multiply_all(in.x, in.weight.t(), {}, z);
      layer.z = read<Stored>(z);
    }
    const int64_t rows = order.edges + (layer.loops ? order.targets : 0);
    const at::Tensor handoff = at::empty({rows, 2 * sizes.heads}, options);
    at::Tensor transposed;
    const OutEdges edges = out_edges(order, transposed);

    const at::Tensor dz = at::empty({sizes.sources, width}, options);
    gradients.z = write<T>(dz);
    gradients.handoff = handoff.mutable_data_ptr<T>();
    std::vector<Sums> sums(
        static_cast<size_t>(std::max<int64_t>({ranges.count(), ranges.source_count(), 1})));
    for (Sums& mine : sums) mine = zero_sums(&mine == sums.data(), false);
    const std::vector<at::Tensor> buffer = transposed_buffers(dz, in.x);
    over_ranges(ranges.count(), [&](int64_t first, int64_t last) {
      const at::Tensor scratch = at::empty({gat_scratch_size(order, sizes.heads)}, options);
      for (int64_t r = first; r < last; ++r) {
        GatGradients<T, Stored> mine = gradients;
        mine.q = write<T>(sums[static_cast<size_t>(r)].q);
        mine.bias = write<T>(sums[static_cast<size_t>(r)].bias);
        kernels.backward(layer, mine, ranges.begin(r), ranges.end(r), scratch.mutable_data_ptr<T>());
      }
    });
    over_ranges(ranges.source_count(), [&](int64_t first, int64_t last) {
      for (int64_t r = first; r < last; ++r) {
        const int64_t begin = r * AttentionRanges::kNodes;
        const int64_t end = ranges.source_end(r);
        Sums& mine = sums[static_cast<size_t>(r)];
        kernels.gather(layer, gradients, edges, begin, end);
        kernels.scores_backward(layer.z, attention_of<T>(in), {read<T>(ds), read<T>(dt)}, sizes.heads,
                                sizes.channels, begin, end, gradients.z,
                                {write<T>(mine.att_source), write<T>(mine.att_target)});
      }
    });
    add_up_all(sums);
    if (to.x.defined()) multiply_all(dz, in.weight, {}, to.x);
    multiply_transposed(dz, in.x, buffer, to.weight);
  }
};

}  // namespace

GatOutput gat_forward(const GatTensors& given, const AttentionOptions& options) {
  const AttentionSizes sizes = check(given, options);
  const at::TensorOptions of_sums = sums_like(given.x);
  const auto scores = [&](int64_t nodes) { return at::empty({nodes, sizes.heads}, of_sums); };
  const auto rows = [&](int64_t nodes) { return at::empty({nodes, sizes.width()}, given.x.options()); };
  GatOutput result;
  result.out = rows(sizes.targets);
  result.saved = {.z = rows(options.keep_projection ? sizes.sources : 0),
                  .s = scores(sizes.sources),
                  .t = given.att_target.defined() ? scores(sizes.targets)
                                                  : given.target_score.to(of_sums, false, /*copy=*/true),
                  .highest = scores(sizes.targets),
                  .scale = scores(sizes.targets),
                  .alpha = empty_alpha(given, sizes, options)};
  const WorkspaceScope workspace;
  const GatTensors in = in_sums(given);
  if (in.x.is_meta()) {
    const AttentionShape shape = layer_shape(in, sizes, options);
    if (MetaTensors::on_cuda())
      ask_for_workspace(in.x, gat_device_workspace(shape), 0);
    else
      ask_for_workspace(in.x, gat_bytes(shape).workspace, workspace_groups(shape));
    return result;
  }
  if (!in.x.is_cpu()) {
    gat_forward_on_device(in, sizes, options, result);
    return result;
  }
  with_numbers(in.x.scalar_type(), [&](auto numbers) {
    using N = decltype(numbers);
    GatOf<N> layer = layer_of<N>(in, result.saved, sizes, options);
    layer.out = write<typename N::Stored>(result.out);
    if constexpr (rounds<N>()) precise_scores(in, sizes, result.saved);
    if (layer.order.closed && in.att_target.defined())
      forward_closed<N>(in, sizes, layer, result.saved, options.keep_projection);
    else
      forward_open<N>(in, sizes, layer, result.saved);
  });
  return result;
}

GatInputGradients gat_backward(const at::Tensor& grad_out, const at::Tensor& grad_alpha,
                               const GatTensors& given, const GatSaved& saved,
                               const AttentionOptions& options, bool needs_x, bool needs_edge_attr) {
  const AttentionSizes sizes = check(given, options);
  GatInputGradients to;
  if (needs_x) to.x = gradient_of(given.x);
  if (needs_edge_attr && given.q.defined()) to.edge_attr = gradient_of(given.edge_attr).zero_();
  to.weight = gradient_of(given.weight);
  to.att_source = gradient_of(given.att_source);
  to.att_target = gradient_of(given.att_target);
  if (!given.att_target.defined()) to.target_score = gradient_of(given.target_score);
  to.q = gradient_of(given.q);
  to.bias = at::empty({sizes.width()}, given.bias.defined() ? given.bias.options() : given.x.options());

  const WorkspaceScope workspace;
  const GatTensors in = in_sums(given);
  const at::Tensor grad = grad_out.contiguous();
  const at::Tensor alpha = grad_alpha.defined() ? grad_alpha.contiguous() : at::Tensor();
  check_gradients(in, sizes, options, grad, alpha);
  check_kept_z(in, sizes, saved.z, sizes.sources, true);
  check_kept_scores(in, sizes, saved.s, sizes.sources);
  for (const at::Tensor* kept : {&saved.t, &saved.highest, &saved.scale})
    check_kept_scores(in, sizes, *kept, sizes.targets);
  if (in.x.is_meta()) {
    const AttentionShape shape = layer_shape(in, sizes, options);
    if (MetaTensors::on_cuda())
      ask_for_workspace(in.x, gat_backward_device_workspace(shape), 0);
    else
      ask_for_workspace(in.x, gat_backward_bytes(shape, needs_x, needs_edge_attr).workspace,
                        workspace_groups(shape));
    return to;
  }
  if (!in.x.is_cpu()) {
    gat_backward_on_device(grad, alpha, in, sizes, saved, options, to);
    return to;
  }
  const at::Tensor ds = at::zeros({sizes.sources, sizes.heads}, sums_like(in.x));
  const at::Tensor dt = to.target_score.defined() && to.target_score.scalar_type() == ds.scalar_type()
                            ? to.target_score
                            : at::empty({sizes.targets, sizes.heads}, sums_like(in.x));
  with_numbers(in.x.scalar_type(), [&](auto numbers) {
    using N = decltype(numbers);
    using T = typename N::Sum;
    using Stored = typename N::Stored;
    GatGradients<T, Stored> gradients;
    gradients.out = read<Stored>(grad);
    gradients.alpha = read<T>(alpha);
    gradients.s = write<T>(ds);
    gradients.t = write<T>(dt);
    gradients.edge_attr = write<Stored>(to.edge_attr);
    Backward<N> backward{in,        sizes, saved, kernels_of<N>(), layer_of<N>(in, saved, sizes, options),
                         gradients, to};
    if (backward.layer.order.closed && in.att_target.defined())
      backward.closed(ds, dt);
    else
      backward.open(ds, dt);
  });
  if (to.target_score.defined() && !dt.is_same(to.target_score)) to.target_score.copy_(dt);
  return to;
}

}  // namespace plimsoll
