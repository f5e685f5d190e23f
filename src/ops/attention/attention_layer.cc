#include "ops/attention/attention_layer.h"

#include <fmt/format.h>

#include "base/error.h"
#include "ops/meta_tensors.h"

namespace plimsoll {
namespace {

int64_t alpha_rows(const AttentionSizes& sizes, const AttentionOptions& options) {
  return sizes.edges + (options.loops ? sizes.targets : 0);
}

void check_options(const AttentionTensors& in, const AttentionOptions& options, const AttentionSizes& sizes) {
  if (options.loops && sizes.sources < sizes.targets)
    throw UsageError(
        "attention: found fewer sources than targets, expected a source for every target to add self-loops");
  if (!(options.dropout >= 0 && options.dropout < 1))
    throw UsageError("attention: dropout must be in [0, 1)");
  if (options.dropout > 0) {
    require(in.seed.defined() && in.seed.scalar_type() == at::kLong && in.seed.numel() == 3 &&
                in.seed.is_contiguous() && (in.seed.is_cpu() || in.x.is_meta()),
            "seed i64 [3] on the CPU: seed, layer, epoch", in.seed);
  }
  if (options.dropout > 0 && in.seed.is_cpu()) {
    const int64_t* const seed = in.seed.const_data_ptr<int64_t>();
    if (seed[1] < 0 || seed[1] > 65535 || seed[2] < 0 || seed[2] > 4294967295)
      throw UsageError(fmt::format(
          "attention: found layer {} and epoch {}, expected a layer below 65536 and an epoch below 2^32",
          seed[1], seed[2]));
  }
  if (in.keys.defined())
    require(in.keys.scalar_type() == at::kLong && in.keys.dim() == 2 && in.keys.size(0) == 3 &&
                in.keys.size(1) == sizes.targets && in.keys.is_contiguous() &&
                in.keys.device() == in.x.device(),
            "keys i64 [3, T] on x's device", in.keys);
}

}  // namespace

AttentionSizes check_attention(const AttentionTensors& in, const AttentionOptions& options, int64_t targets,
                               int64_t edge_features) {
  const at::Tensor& x = in.x;
  const at::ScalarType dtype = x.scalar_type();
  require(x.dim() == 2 && (dtype == at::kFloat || dtype == at::kDouble || dtype == at::kBFloat16) &&
              x.is_contiguous(),
          "x f32, f64 or bf16 [S, F]", x);
  require(options.heads > 0 && in.weight.dim() == 2 && in.weight.size(0) % options.heads == 0,
          "weight [H*D, F] with the number of heads given", in.weight);
  require(in.order.scalar_type() == at::kInt && in.order.dim() == 1 && in.order.is_contiguous() &&
              in.order.numel() >= edge_order_size(targets, 0) && in.order.device() == x.device(),
          "order i32 made by edge_order() for these nodes, on x's device", in.order);
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
                 "edge_attr [E, K] of x's dtype, with E from order and K from the weights");
  else
    require(!in.edge_attr.defined(), "edge_attr only together with the weights of edge features",
            in.edge_attr);
  if (in.bias.defined()) require_either(x, in.bias, {sizes.width()}, "bias [H*D] of x's dtype");
  check_options(in, options, sizes);
  return sizes;
}

void check_kept_z(const AttentionTensors& in, const AttentionSizes& sizes, const at::Tensor& z, int64_t rows,
                  bool optional) {
  if (optional && z.size(0) == 0) return;
  require_like(in.x, z, {rows, sizes.width()}, "the z that forward kept for these inputs");
}

void check_kept_scores(const AttentionTensors& in, const AttentionSizes& sizes, const at::Tensor& kept,
                       int64_t rows) {
  require_sums(in.x, kept, {rows, sizes.heads},
               "the scores or statistics that forward kept for these inputs");
}

void check_gradients(const AttentionTensors& in, const AttentionSizes& sizes, const AttentionOptions& options,
                     const at::Tensor& out, const at::Tensor& alpha) {
  require_like(in.x, out, {sizes.targets, sizes.width()}, "the gradient of out [T, H*D] of x's dtype");
  if (alpha.defined())
    require_sums(in.x, alpha, {alpha_rows(sizes, options), sizes.heads},
                 "the gradient of alpha [E (+ T), H] of alpha's dtype");
}

at::Tensor empty_alpha(const AttentionTensors& in, const AttentionSizes& sizes,
                       const AttentionOptions& options) {
  // Initialised to zeros, because nothing is written for edges that the order leaves out.
  return at::zeros({options.return_attention ? alpha_rows(sizes, options) : 0, sizes.heads}, sums_like(in.x));
}

AttentionShape shape_of(const AttentionTensors& in, const AttentionSizes& sizes,
                        const AttentionOptions& options) {
  return {.sources = sizes.sources,
          .targets = sizes.targets,
          .edges = sizes.edges,
          .features = sizes.features,
          .edge_features = sizes.edge_features,
          .heads = sizes.heads,
          .channels = sizes.channels,
          .dtype = in.x.scalar_type(),
          .order = MetaTensors::order(in.order.numel()),
          .loops = options.loops,
          .keep_projection = options.keep_projection,
          .return_attention = options.return_attention};
}

int64_t workspace_groups(const AttentionShape& shape) {
  if (shape.order.closed && !shape.other_targets) return AttentionRanges::groups_of(shape.order.pieces);
  return (std::max(shape.targets, shape.sources) + AttentionRanges::kNodes - 1) / AttentionRanges::kNodes;
}

OutEdges out_edges(const EdgeOrder& order, at::Tensor& buffer) {
  buffer = at::empty({order.sources + 1 + 2 * order.edges}, at::kInt);
  int32_t* const ptr = buffer.mutable_data_ptr<int32_t>();
  int32_t* const position = ptr + order.sources + 1;
  int32_t* const target = position + order.edges;
  transpose_edge_order(order, ptr, position, target);
  return {ptr, position, target};
}

RoundedRows::RoundedRows(const at::Tensor& x, int64_t rows, int64_t columns) {
  if (x.scalar_type() != sum_type(x.scalar_type())) buffer_ = at::empty({rows, columns}, x.options());
}

at::Tensor RoundedRows::round(const at::Tensor& sums) const {
  if (!buffer_.defined()) return sums;
  const at::Tensor rounded = buffer_.narrow(0, 0, sums.size(0));
  rounded.copy_(sums);
  return rounded;
}

}  // namespace plimsoll
