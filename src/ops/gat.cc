#include "ops/gat.h"

#include <ATen/CPUFunctions.h>
#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>

#include <algorithm>

#include "kernels/gat.h"
#include "ops/gat_device.h"

namespace plimsoll {
namespace {

AttentionSizes check(const GatTensors& in, const AttentionOptions& options) {
  require(in.att_target.defined() || (in.target_score.defined() && in.target_score.dim() == 2),
          "att_target, or target_score [T, H] where targets are other nodes than sources", in.target_score);
  const AttentionSizes sizes =
      check_attention(in, options, in.att_target.defined() ? in.x.size(0) : in.target_score.size(0),
                      in.q.defined() ? in.q.size(0) : 0);
  require_like(in.x, in.att_source, {sizes.heads, sizes.channels}, "att_source [H, D] of x's dtype");
  if (in.att_target.defined())
    require_like(in.x, in.att_target, {sizes.heads, sizes.channels}, "att_target [H, D] of x's dtype");
  else
    require_like(in.x, in.target_score, {sizes.targets, sizes.heads}, "target_score [T, H] of x's dtype");
  if (in.q.defined()) require_like(in.x, in.q, {sizes.edge_features, sizes.heads}, "q [K, H] of x's dtype");
  return sizes;
}

template <typename T>
Gat<T> layer_of(const GatTensors& in, const GatSaved& saved, const AttentionSizes& sizes,
                const AttentionOptions& options) {
  Gat<T> layer;
  fill_layer(layer, in, sizes, options);
  layer.z = read<T>(saved.z);
  layer.q = read<T>(in.q);
  layer.s = read<T>(saved.s);
  layer.t = read<T>(saved.t);
  layer.highest = write<T>(saved.highest);
  layer.scale = write<T>(saved.scale);
  layer.alpha = write<T>(saved.alpha);
  return layer;
}

template <typename T>
void forward_closed(const GatTensors& in, const AttentionSizes& sizes, const Gat<T>& layer,
                    const GatSaved& saved, bool keep) {
  const GatKernels<T>& kernels = gat_kernels<T>(kernel_level());
  const AttentionRanges ranges(layer.order);
  const int64_t width = sizes.width();
  const int64_t largest = keep ? 0 : ranges.largest();
  const at::Tensor projection = in.weight.t();
  over_ranges(ranges.count(), [&](int64_t first, int64_t last) {
    const at::Tensor scratch = at::empty({gat_scratch_size(layer.order, sizes.heads)}, in.x.options());
    const at::Tensor piece_z = keep ? saved.z : at::empty({largest, width}, in.x.options());
    Gat<T> mine = layer;
    for (int64_t r = first; r < last; ++r) {
      const int64_t begin = ranges.begin(r);
      const int64_t end = ranges.end(r);
      multiply_rows(in.x, begin, end, projection, piece_z.narrow(0, keep ? begin : 0, end - begin));
      mine.z = piece_z.const_data_ptr<T>() - (keep ? 0 : begin * width);
      kernels.scores(mine.z, read<T>(in.att_source), sizes.heads, sizes.channels, begin, end,
                     write<T>(saved.s));
      kernels.scores(mine.z, read<T>(in.att_target), sizes.heads, sizes.channels, begin, end,
                     write<T>(saved.t));
      kernels.forward(mine, begin, end, scratch.mutable_data_ptr<T>());
    }
  });
}

template <typename T>
void forward_open(const GatTensors& in, const AttentionSizes& sizes, Gat<T> layer, const GatSaved& saved) {
  const GatKernels<T>& kernels = gat_kernels<T>(kernel_level());
  const at::Tensor z = saved.z.size(0) > 0 || sizes.sources == 0
                           ? saved.z
                           : at::empty({sizes.sources, sizes.heads * sizes.channels}, in.x.options());
  multiply_all(in.x, in.weight.t(), {}, z);
  layer.z = read<T>(z);
  at::parallel_for(0, sizes.sources, AttentionRanges::kNodes, [&](int64_t begin, int64_t end) {
    kernels.scores(layer.z, read<T>(in.att_source), sizes.heads, sizes.channels, begin, end,
                   write<T>(saved.s));
    if (in.att_target.defined())
      kernels.scores(layer.z, read<T>(in.att_target), sizes.heads, sizes.channels, begin, end,
                     write<T>(saved.t));
  });
  const AttentionRanges ranges(layer.order);
  over_ranges(ranges.count(), [&](int64_t first, int64_t last) {
    const at::Tensor scratch = at::empty({gat_scratch_size(layer.order, sizes.heads)}, in.x.options());
    for (int64_t r = first; r < last; ++r)
      kernels.forward(layer, ranges.begin(r), ranges.end(r), scratch.mutable_data_ptr<T>());
  });
}

template <typename T>
struct Backward {
  const GatTensors& in;
  const AttentionSizes& sizes;
  const GatSaved& saved;
  const GatKernels<T>& kernels;
  Gat<T> layer;
  GatGradients<T> gradients;
  GatInputGradients& to;
  int64_t width = sizes.width();

  // Sums of one group of ranges, added up in the order of groups.
  struct Sums {
    at::Tensor weight, att_source, att_target, q, bias;
  };

  Sums empty_sums(bool with_weight) const {
    const auto options = in.x.options();
    return {with_weight ? at::zeros({width, sizes.features}, options) : at::Tensor(),
            at::zeros({sizes.heads, sizes.channels}, options),
            at::zeros({sizes.heads, sizes.channels}, options),
            at::zeros({sizes.edge_features, sizes.heads}, options), at::zeros({width}, options)};
  }

  void add_up(const std::vector<Sums>& groups) {
    to.att_source = groups.front().att_source;
    to.att_target = groups.front().att_target;
    to.q = groups.front().q;
    to.bias = groups.front().bias;
    if (groups.front().weight.defined()) to.weight = groups.front().weight;
    for (size_t g = 1; g < groups.size(); ++g) {
      to.att_source.add_(groups[g].att_source);
      to.att_target.add_(groups[g].att_target);
      to.q.add_(groups[g].q);
      to.bias.add_(groups[g].bias);
      if (groups[g].weight.defined()) to.weight.add_(groups[g].weight);
    }
  }

  void closed(const at::Tensor& ds, const at::Tensor& dt) {
    const AttentionRanges ranges(layer.order);
    const int64_t count = ranges.count();
    const int64_t groups = ranges.groups();
    const int64_t largest = ranges.largest();
    const bool again = saved.z.size(0) == 0;
    std::vector<Sums> sums(static_cast<size_t>(groups));
    over_ranges(groups, [&](int64_t first, int64_t last) {
      const at::Tensor scratch = at::empty({gat_scratch_size(layer.order, sizes.heads)}, in.x.options());
      const at::Tensor dz = at::empty({largest, width}, in.x.options());
      const at::Tensor z = again ? at::empty({largest, width}, in.x.options()) : at::Tensor();
      for (int64_t g = first; g < last; ++g) {
        Sums& mine = sums[static_cast<size_t>(g)];
        mine = empty_sums(true);
        for (int64_t r = g * count / groups; r < (g + 1) * count / groups; ++r)
          piece(ranges.begin(r), ranges.end(r), ds, dt, z, dz, scratch, mine);
      }
    });
    add_up(sums);
  }

  void piece(int64_t begin, int64_t end, const at::Tensor& ds, const at::Tensor& dt, const at::Tensor& z,
             const at::Tensor& dz, const at::Tensor& scratch, Sums& sums) {
    Gat<T> mine = layer;
    GatGradients<T> grads = gradients;
    if (z.defined()) {
      multiply_rows(in.x, begin, end, in.weight.t(), z.narrow(0, 0, end - begin));
      mine.z = z.const_data_ptr<T>() - begin * width;
    }
    const at::Tensor dz_rows = dz.narrow(0, 0, end - begin);
    dz_rows.zero_();
    grads.z = dz.mutable_data_ptr<T>() - begin * width;
    grads.q = write<T>(sums.q);
    grads.bias = write<T>(sums.bias);
    kernels.backward(mine, grads, begin, end, scratch.mutable_data_ptr<T>());
    kernels.scores_backward(mine.z, read<T>(in.att_source), read<T>(ds), sizes.heads, sizes.channels, begin,
                            end, grads.z, write<T>(sums.att_source));
    kernels.scores_backward(mine.z, read<T>(in.att_target), read<T>(dt), sizes.heads, sizes.channels, begin,
                            end, grads.z, write<T>(sums.att_target));
    if (to.x.defined()) multiply_rows(dz_rows, 0, end - begin, in.weight, to.x.narrow(0, begin, end - begin));
    sums.weight.addmm_(dz_rows.t(), in.x.narrow(0, begin, end - begin));
  }

  void open(const at::Tensor& ds, const at::Tensor& dt) {
    const auto options = in.x.options();
    const EdgeOrder& order = layer.order;
    const AttentionRanges ranges(order);
    at::Tensor z;
    if (saved.z.size(0) == 0) {
      z = at::empty({sizes.sources, width}, options);
      multiply_all(in.x, in.weight.t(), {}, z);
      layer.z = read<T>(z);
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
    for (Sums& mine : sums) mine = empty_sums(false);
    over_ranges(ranges.count(), [&](int64_t first, int64_t last) {
      const at::Tensor scratch = at::empty({gat_scratch_size(order, sizes.heads)}, options);
      for (int64_t r = first; r < last; ++r) {
        GatGradients<T> mine = gradients;
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
        kernels.scores_backward(layer.z, read<T>(in.att_source), read<T>(ds), sizes.heads, sizes.channels,
                                begin, end, gradients.z, write<T>(mine.att_source));
        if (in.att_target.defined())
          kernels.scores_backward(layer.z, read<T>(in.att_target), read<T>(dt), sizes.heads, sizes.channels,
                                  begin, end, gradients.z, write<T>(mine.att_target));
      }
    });
    add_up(sums);
    if (to.x.defined()) multiply_all(dz, in.weight, {}, to.x);
    to.weight = multiply_transposed(dz, in.x);
  }
};

}  // namespace

GatOutput gat_forward(const GatTensors& in, const AttentionOptions& options) {
  const AttentionSizes sizes = check(in, options);
  const auto empty = [&](int64_t rows, int64_t columns) {
    return at::empty({rows, columns}, in.x.options());
  };
  const int64_t width = sizes.width();
  GatOutput result;
  result.out = empty(sizes.targets, width);
  result.saved = {.z = empty(options.keep_projection ? sizes.sources : 0, width),
                  .s = empty(sizes.sources, sizes.heads),
                  .t = in.att_target.defined() ? empty(sizes.targets, sizes.heads) : in.target_score.clone(),
                  .highest = empty(sizes.targets, sizes.heads),
                  .scale = empty(sizes.targets, sizes.heads),
                  .alpha = options.return_attention
                               ? at::zeros({sizes.edges + (options.loops ? sizes.targets : 0), sizes.heads},
                                           in.x.options())
                               : empty(0, sizes.heads)};
  if (!in.x.is_cpu()) {
    gat_forward_on_device(in, sizes, options, result);
    return result;
  }
  AT_DISPATCH_FLOATING_TYPES(in.x.scalar_type(), "gat_forward", [&] {
    Gat<scalar_t> layer = layer_of<scalar_t>(in, result.saved, sizes, options);
    layer.out = write<scalar_t>(result.out);
    if (layer.order.closed && in.att_target.defined())
      forward_closed<scalar_t>(in, sizes, layer, result.saved, options.keep_projection);
    else
      forward_open<scalar_t>(in, sizes, layer, result.saved);
  });
  return result;
}

GatInputGradients gat_backward(const at::Tensor& grad_out, const at::Tensor& grad_alpha, const GatTensors& in,
                               const GatSaved& saved, const AttentionOptions& options, bool needs_x,
                               bool needs_edge_attr) {
  const AttentionSizes sizes = check(in, options);
  const auto like = in.x.options();
  GatInputGradients to;
  if (needs_x) to.x = at::empty({sizes.sources, sizes.features}, like);
  if (needs_edge_attr && in.q.defined()) to.edge_attr = at::zeros({sizes.edges, sizes.edge_features}, like);
  const at::Tensor grad = grad_out.contiguous();
  const at::Tensor alpha = grad_alpha.defined() ? grad_alpha.contiguous() : at::Tensor();
  check_gradients(in, sizes, options, grad, alpha);
  check_kept(in, saved.z, sizes.sources, sizes.width(), true);
  check_kept(in, saved.s, sizes.sources, sizes.heads, false);
  for (const at::Tensor* kept : {&saved.t, &saved.highest, &saved.scale})
    check_kept(in, *kept, sizes.targets, sizes.heads, false);
  if (!in.x.is_cpu()) {
    gat_backward_on_device(grad, alpha, in, sizes, saved, options, to);
    return to;
  }
  const at::Tensor ds = at::zeros({sizes.sources, sizes.heads}, like);
  const at::Tensor dt = at::empty({sizes.targets, sizes.heads}, like);
  AT_DISPATCH_FLOATING_TYPES(in.x.scalar_type(), "gat_backward", [&] {
    GatGradients<scalar_t> gradients;
    gradients.out = read<scalar_t>(grad);
    gradients.alpha = read<scalar_t>(alpha);
    gradients.s = write<scalar_t>(ds);
    gradients.t = write<scalar_t>(dt);
    gradients.edge_attr = write<scalar_t>(to.edge_attr);
    Backward<scalar_t> backward{in,
                                sizes,
                                saved,
                                gat_kernels<scalar_t>(kernel_level()),
                                layer_of<scalar_t>(in, saved, sizes, options),
                                gradients,
                                to};
    if (backward.layer.order.closed && in.att_target.defined())
      backward.closed(ds, dt);
    else
      backward.open(ds, dt);
  });
  if (!in.att_target.defined()) {
    to.target_score = dt;
    to.att_target = at::Tensor();
  }
  if (!in.q.defined()) to.q = at::Tensor();
  return to;
}

}  // namespace plimsoll
