#include "ops/gat.h"

#include <ATen/CPUFunctions.h>
#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "kernels/gat.h"

namespace plimsoll {
namespace {

// Nodes in a range where pieces are not closed, and the most sums of weight gradients kept apart.
constexpr int64_t kRangeNodes = 1024;
constexpr int64_t kMostGroups = 16;
constexpr int64_t kPiecesOfGroup = 8;

template <typename T>
const T* read(const at::Tensor& tensor) {
  return tensor.defined() && tensor.numel() > 0 ? tensor.const_data_ptr<T>() : nullptr;
}
template <typename T>
T* write(const at::Tensor& tensor) {
  return tensor.defined() && tensor.numel() > 0 ? tensor.mutable_data_ptr<T>() : nullptr;
}

void require(bool ok, const char* what, const at::Tensor& found) {
  if (!ok)
    throw UsageError(fmt::format("gat: expected {}, found {} of shape [{}]", what,
                                 c10::toString(found.scalar_type()), fmt::join(found.sizes(), ", ")));
}

struct Sizes {
  int64_t sources, targets, features, heads, channels, edge_features;
};

Sizes check(const GatTensors& in, const GatOptions& options) {
  const at::Tensor& x = in.x;
  require(x.dim() == 2 && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble),
          "x f32 or f64 [S, F]", x);
  const auto floats = [&](const at::Tensor& tensor, at::IntArrayRef shape, const char* what) {
    require(tensor.scalar_type() == x.scalar_type() && tensor.sizes() == shape && tensor.is_contiguous(),
            what, tensor);
  };
  const int64_t heads = options.heads;
  require(heads > 0 && in.weight.dim() == 2 && in.weight.size(0) % heads == 0, "weight [H*D, F]", in.weight);
  const Sizes sizes{.sources = x.size(0),
                    .targets = in.att_target.defined() ? x.size(0) : in.target_score.size(0),
                    .features = x.size(1),
                    .heads = heads,
                    .channels = in.weight.size(0) / heads,
                    .edge_features = in.q.defined() ? in.q.size(0) : 0};
  require(x.is_contiguous(), "x contiguous", x);
  floats(in.weight, {heads * sizes.channels, sizes.features}, "weight [H*D, F] of x's dtype, contiguous");
  floats(in.att_source, {heads, sizes.channels}, "att_source [H, D] of x's dtype, contiguous");
  if (in.att_target.defined())
    floats(in.att_target, {heads, sizes.channels}, "att_target [H, D] of x's dtype, contiguous");
  else
    floats(in.target_score, {sizes.targets, heads}, "target_score [T, H] of x's dtype, contiguous");
  if (in.q.defined()) {
    floats(in.q, {sizes.edge_features, heads}, "q [K, H] of x's dtype, contiguous");
    floats(in.edge_attr, {in.edges, sizes.edge_features}, "edge_attr [E, K] of x's dtype, contiguous");
  }
  if (in.bias.defined()) floats(in.bias, {heads * sizes.channels}, "bias [H*D] of x's dtype, contiguous");
  require(in.order.scalar_type() == at::kInt && in.order.dim() == 1 && in.order.is_contiguous(),
          "order i32 as edge_order() makes it", in.order);
  if (options.loops && sizes.sources < sizes.targets)
    throw UsageError("gat: self-loops need a source for every target");
  if (!(options.dropout >= 0 && options.dropout < 1)) throw UsageError("gat: dropout must lie in [0, 1)");
  if (options.dropout > 0)
    require(in.seed.defined() && in.seed.scalar_type() == at::kLong && in.seed.numel() == 3 &&
                in.seed.is_contiguous(),
            "seed i64 [3] (seed, layer, epoch)", in.seed);
  if (in.keys.defined())
    require(in.keys.scalar_type() == at::kLong && in.keys.dim() == 2 && in.keys.size(0) == 3 &&
                in.keys.size(1) == sizes.targets && in.keys.is_contiguous(),
            "keys i64 [3, T]", in.keys);
  return sizes;
}

template <typename T>
Gat<T> layer_of(const GatTensors& in, const GatSaved& saved, const Sizes& sizes, const GatOptions& options) {
  Gat<T> layer;
  layer.order = view_edge_order(in.order.const_data_ptr<int32_t>(), in.order.numel(), sizes.sources,
                                sizes.targets, in.edges);
  layer.caller_edges = in.edges;
  layer.heads = sizes.heads;
  layer.channels = sizes.channels;
  layer.edge_features = sizes.edge_features;
  layer.slope = static_cast<T>(options.slope);
  layer.loops = options.loops;
  layer.fill = options.fill == "zero"   ? LoopFill::zero
               : options.fill == "mean" ? LoopFill::mean
                                        : LoopFill::value;
  layer.fill_value = static_cast<T>(options.fill_value);
  layer.dropout.p = options.dropout;
  if (options.dropout > 0) {
    const int64_t* const seed = in.seed.const_data_ptr<int64_t>();
    layer.dropout.seed = static_cast<uint64_t>(seed[0]);
    layer.dropout.layer = static_cast<uint32_t>(seed[1]);
    layer.dropout.epoch = static_cast<uint32_t>(seed[2]);
    if (in.keys.defined()) {
      layer.dropout.item = in.keys.const_data_ptr<int64_t>();
      layer.dropout.local = layer.dropout.item + sizes.targets;
      layer.dropout.first_edge = layer.dropout.local + sizes.targets;
    }
  }
  layer.z = read<T>(saved.z);
  layer.edge_attr = read<T>(in.edge_attr);
  layer.q = read<T>(in.q);
  layer.s = read<T>(saved.s);
  layer.t = read<T>(saved.t);
  layer.highest = write<T>(saved.highest);
  layer.scale = write<T>(saved.scale);
  layer.bias = read<T>(in.bias);
  layer.alpha = write<T>(saved.alpha);
  return layer;
}

// Closed pieces where there are such, else ranges of a fixed number of targets.
struct Ranges {
  const EdgeOrder& order;

  int64_t count() const {
    return order.closed ? order.pieces : (order.targets + kRangeNodes - 1) / kRangeNodes;
  }
  int64_t begin(int64_t r) const { return order.closed ? order.piece_ptr[r] : r * kRangeNodes; }
  int64_t end(int64_t r) const {
    return order.closed ? order.piece_ptr[r + 1] : std::min((r + 1) * kRangeNodes, order.targets);
  }
  int64_t largest() const {
    int64_t most = 0;
    for (int64_t r = 0; r < count(); ++r) most = std::max(most, end(r) - begin(r));
    return most;
  }
};

// rows begin .. end-1 of a product a b, into `out`; in the calling thread's own way.
void product(const at::Tensor& a, int64_t begin, int64_t end, const at::Tensor& b, const at::Tensor& out) {
  at::Tensor to = out;
  at::cpu::mm_out(to, a.narrow(0, begin, end - begin), b);
}

template <typename T>
void forward_closed(const GatTensors& in, const Sizes& sizes, const Gat<T>& layer, const GatSaved& saved,
                    bool keep) {
  const GatKernels<T>& kernels = gat_kernels<T>(kernel_level());
  const Ranges ranges{layer.order};
  const int64_t width = sizes.heads * sizes.channels;
  const int64_t largest = keep ? 0 : ranges.largest();
  const at::Tensor projection = in.weight.t();
  at::parallel_for(0, ranges.count(), 1, [&](int64_t first, int64_t last) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    const at::Tensor scratch = at::empty({gat_scratch_size(layer.order, sizes.heads)}, in.x.options());
    const at::Tensor piece_z = keep ? saved.z : at::empty({largest, width}, in.x.options());
    Gat<T> mine = layer;
    for (int64_t r = first; r < last; ++r) {
      const int64_t begin = ranges.begin(r);
      const int64_t end = ranges.end(r);
      product(in.x, begin, end, projection, piece_z.narrow(0, keep ? begin : 0, end - begin));
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
void forward_open(const GatTensors& in, const Sizes& sizes, Gat<T> layer, const GatSaved& saved) {
  const GatKernels<T>& kernels = gat_kernels<T>(kernel_level());
  const at::Tensor z = saved.z.size(0) > 0 || sizes.sources == 0
                           ? saved.z
                           : at::empty({sizes.sources, sizes.heads * sizes.channels}, in.x.options());
  at::Tensor projected = z;
  at::mm_out(projected, in.x, in.weight.t());
  layer.z = read<T>(z);
  at::parallel_for(0, sizes.sources, kRangeNodes, [&](int64_t begin, int64_t end) {
    kernels.scores(layer.z, read<T>(in.att_source), sizes.heads, sizes.channels, begin, end,
                   write<T>(saved.s));
    if (in.att_target.defined())
      kernels.scores(layer.z, read<T>(in.att_target), sizes.heads, sizes.channels, begin, end,
                     write<T>(saved.t));
  });
  const Ranges ranges{layer.order};
  at::parallel_for(0, ranges.count(), 1, [&](int64_t first, int64_t last) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    const at::Tensor scratch = at::empty({gat_scratch_size(layer.order, sizes.heads)}, in.x.options());
    for (int64_t r = first; r < last; ++r)
      kernels.forward(layer, ranges.begin(r), ranges.end(r), scratch.mutable_data_ptr<T>());
  });
}

template <typename T>
struct Backward {
  const GatTensors& in;
  const Sizes& sizes;
  const GatSaved& saved;
  const GatKernels<T>& kernels;
  Gat<T> layer;
  GatGradients<T> gradients;
  GatInputGradients& to;
  int64_t width = sizes.heads * sizes.channels;

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
    const Ranges ranges{layer.order};
    const int64_t count = ranges.count();
    const int64_t groups = std::clamp<int64_t>(count / kPiecesOfGroup, 1, kMostGroups);
    const int64_t largest = ranges.largest();
    const bool again = saved.z.size(0) == 0;
    std::vector<Sums> sums(static_cast<size_t>(groups));
    at::parallel_for(0, groups, 1, [&](int64_t first, int64_t last) {
      const at::AutoDispatchBelowADInplaceOrView guard;
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
      product(in.x, begin, end, in.weight.t(), z.narrow(0, 0, end - begin));
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
    if (to.x.defined()) product(dz_rows, 0, end - begin, in.weight, to.x.narrow(0, begin, end - begin));
    sums.weight.addmm_(dz_rows.t(), in.x.narrow(0, begin, end - begin));
  }

  void open(const at::Tensor& ds, const at::Tensor& dt) {
    const auto options = in.x.options();
    const EdgeOrder& order = layer.order;
    const Ranges ranges{order};
    at::Tensor z;
    if (saved.z.size(0) == 0) {
      z = at::mm(in.x, in.weight.t());
      layer.z = read<T>(z);
    }
    const int64_t rows = order.edges + (layer.loops ? order.targets : 0);
    const at::Tensor handoff = at::empty({rows, 2 * sizes.heads}, options);
    const at::Tensor transposed = at::empty({order.sources + 1 + 2 * order.edges}, in.order.options());
    int32_t* const out_ptr = transposed.mutable_data_ptr<int32_t>();
    int32_t* const position = out_ptr + order.sources + 1;
    int32_t* const target = position + order.edges;
    transpose_edge_order(order, out_ptr, position, target);

    const at::Tensor dz = at::empty({sizes.sources, width}, options);
    gradients.z = write<T>(dz);
    gradients.handoff = handoff.mutable_data_ptr<T>();
    std::vector<Sums> sums(static_cast<size_t>(std::max<int64_t>(ranges.count(), 1)));
    for (Sums& mine : sums) mine = empty_sums(false);
    at::parallel_for(0, ranges.count(), 1, [&](int64_t first, int64_t last) {
      const at::AutoDispatchBelowADInplaceOrView guard;
      const at::Tensor scratch = at::empty({gat_scratch_size(order, sizes.heads)}, options);
      for (int64_t r = first; r < last; ++r) {
        GatGradients<T> mine = gradients;
        mine.q = write<T>(sums[static_cast<size_t>(r)].q);
        mine.bias = write<T>(sums[static_cast<size_t>(r)].bias);
        kernels.backward(layer, mine, ranges.begin(r), ranges.end(r), scratch.mutable_data_ptr<T>());
      }
    });
    const int64_t source_ranges = (order.sources + kRangeNodes - 1) / kRangeNodes;
    if (source_ranges > static_cast<int64_t>(sums.size())) {
      const size_t old = sums.size();
      sums.resize(static_cast<size_t>(source_ranges));
      for (size_t r = old; r < sums.size(); ++r) sums[r] = empty_sums(false);
    }
    at::parallel_for(0, source_ranges, 1, [&](int64_t first, int64_t last) {
      for (int64_t r = first; r < last; ++r) {
        const int64_t begin = r * kRangeNodes;
        const int64_t end = std::min(begin + kRangeNodes, order.sources);
        Sums& mine = sums[static_cast<size_t>(r)];
        kernels.gather(layer, gradients, {out_ptr, position, target}, begin, end);
        kernels.scores_backward(layer.z, read<T>(in.att_source), read<T>(ds), sizes.heads, sizes.channels,
                                begin, end, gradients.z, write<T>(mine.att_source));
        if (in.att_target.defined())
          kernels.scores_backward(layer.z, read<T>(in.att_target), read<T>(dt), sizes.heads, sizes.channels,
                                  begin, end, gradients.z, write<T>(mine.att_target));
      }
    });
    add_up(sums);
    if (to.x.defined()) at::mm_out(to.x, dz, in.weight);
    to.weight = at::mm(dz.t(), in.x);
  }
};

}  // namespace

at::Tensor edge_order(const at::Tensor& edge_index, int64_t sources, int64_t targets, bool same_nodes,
                      bool drop_loops) {
  if (edge_index.scalar_type() != at::kLong || edge_index.dim() != 2 || edge_index.size(0) != 2)
    throw UsageError(fmt::format("edge_order: expected edge_index i64 [2, E], found {} of shape [{}]",
                                 c10::toString(edge_index.scalar_type()),
                                 fmt::join(edge_index.sizes(), ", ")));
  const at::Tensor index = edge_index.contiguous();
  const int64_t edges = index.size(1);
  const at::Tensor order = at::empty({edge_order_size(targets, edges)}, index.options().dtype(at::kInt));
  const int64_t* const source = index.const_data_ptr<int64_t>();
  make_edge_order(source, source + edges, edges, sources, targets, same_nodes, drop_loops,
                  order.mutable_data_ptr<int32_t>());
  return order;
}

GatOutput gat_forward(const GatTensors& in, const GatOptions& options) {
  const Sizes sizes = check(in, options);
  const auto empty = [&](int64_t rows, int64_t columns) {
    return at::empty({rows, columns}, in.x.options());
  };
  const int64_t width = sizes.heads * sizes.channels;
  GatOutput result;
  result.out = empty(sizes.targets, width);
  result.saved = {
      .z = empty(options.keep_projection ? sizes.sources : 0, width),
      .s = empty(sizes.sources, sizes.heads),
      .t = in.att_target.defined() ? empty(sizes.targets, sizes.heads) : in.target_score.clone(),
      .highest = empty(sizes.targets, sizes.heads),
      .scale = empty(sizes.targets, sizes.heads),
      .alpha = options.return_attention
                   ? at::zeros({in.edges + (options.loops ? sizes.targets : 0), sizes.heads}, in.x.options())
                   : empty(0, sizes.heads)};
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
                               const GatSaved& saved, const GatOptions& options, bool needs_x,
                               bool needs_edge_attr) {
  const Sizes sizes = check(in, options);
  const auto like = in.x.options();
  GatInputGradients to;
  if (needs_x) to.x = at::empty({sizes.sources, sizes.features}, like);
  if (needs_edge_attr && in.q.defined()) to.edge_attr = at::zeros({in.edges, sizes.edge_features}, like);
  const at::Tensor ds = at::zeros({sizes.sources, sizes.heads}, like);
  const at::Tensor dt = at::empty({sizes.targets, sizes.heads}, like);
  const at::Tensor grad = grad_out.contiguous();
  const at::Tensor alpha = grad_alpha.defined() ? grad_alpha.contiguous() : at::Tensor();
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
