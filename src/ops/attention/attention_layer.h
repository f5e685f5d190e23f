#pragma once

// Functions shared by the files that build layers of attention from tensors and kernels.

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <vector>

#include "kernels/attention/attention.h"
#include "memory/slab.h"
#include "ops/attention/attention.h"
#include "ops/attention/attention_bytes.h"
#include "ops/check.h"
#include "ops/numbers.h"
#include "ops/products.h"

namespace plimsoll {

struct AttentionSizes {
  int64_t sources, targets, edges, features, heads, channels, edge_features;

  int64_t width() const { return heads * channels; }
};

/// Checks the tensors that all kinds of attention have; `targets` is T. Errors: UsageError.
AttentionSizes check_attention(const AttentionTensors& in, const AttentionOptions& options, int64_t targets,
                               int64_t edge_features);

/// Check tensors that forward kept: z [rows, H*D], which may have no rows if `optional`, and statistics
/// [rows, H]. Errors: UsageError.
void check_kept_z(const AttentionTensors& in, const AttentionSizes& sizes, const at::Tensor& z, int64_t rows,
                  bool optional);
void check_kept_scores(const AttentionTensors& in, const AttentionSizes& sizes, const at::Tensor& kept,
                       int64_t rows);

/// Checks the given gradients: out [T, H*D], and alpha [E (+ T), H] or undefined. Errors: UsageError.
void check_gradients(const AttentionTensors& in, const AttentionSizes& sizes, const AttentionOptions& options,
                     const at::Tensor& out, const at::Tensor& alpha);

/// Returns the tensor to which alpha is written: [E (+ T), H], or no rows if alpha is not requested.
at::Tensor empty_alpha(const AttentionTensors& in, const AttentionSizes& sizes,
                       const AttentionOptions& options);

/// Returns an empty tensor for the gradient of `given`, or an undefined one if `given` is undefined.
inline at::Tensor gradient_of(const at::Tensor& given) {
  return given.defined() ? at::empty(given.sizes(), given.options()) : at::Tensor();
}
/// Returns zeros into which a gradient is summed; undefined if `gradient` is. The first of several sums uses
/// the memory of the gradient itself, unless the gradient is rounded.
inline at::Tensor zero_sum(const at::Tensor& gradient, bool first) {
  if (!gradient.defined()) return {};
  const at::ScalarType dtype = sum_type(gradient.scalar_type());
  if (first && dtype == gradient.scalar_type()) return gradient.zero_();
  return at::zeros(gradient.sizes(), gradient.options().dtype(dtype));
}
/// Adds the sums of all groups to the gradient, in the order of groups.
template <typename Sums>
void add_up(const std::vector<Sums>& groups, at::Tensor Sums::*member, const at::Tensor& gradient) {
  const at::Tensor total = groups.front().*member;
  if (!total.defined()) return;
  for (size_t g = 1; g < groups.size(); ++g) total.add_(groups[g].*member);
  if (!total.is_same(gradient)) gradient.copy_(total);
}

/// Sets the members that all kinds of layers have, except the order, z and results. in.bias must have the
/// type of sums.
template <typename T, typename Stored>
void fill_options(Attention<T, Stored>& layer, const AttentionTensors& in, const AttentionSizes& sizes,
                  const AttentionOptions& options) {
  layer.caller_edges = sizes.edges;
  layer.heads = sizes.heads;
  layer.channels = sizes.channels;
  layer.edge_features = sizes.edge_features;
  layer.slope = static_cast<T>(options.slope);
  layer.loops = options.loops;
  layer.fill = options.fill;
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
  layer.edge_attr = read<Stored>(in.edge_attr);
  layer.bias = read<T>(in.bias);
}

/// Does the same as the function above, and also sets the order.
template <typename T, typename Stored>
void fill_layer(Attention<T, Stored>& layer, const AttentionTensors& in, const AttentionSizes& sizes,
                const AttentionOptions& options) {
  fill_options(layer, in, sizes, options);
  layer.order = view_edge_order(in.order.const_data_ptr<int32_t>(), in.order.numel(), sizes.sources,
                                sizes.targets, sizes.edges);
}

/// The ranges that are distributed over threads: closed pieces if the order has them, otherwise ranges of a
/// fixed number of targets.
class AttentionRanges {
 public:
  static constexpr int64_t kNodes = kProductRows;

  explicit AttentionRanges(const EdgeOrder& order) : order_(order) {}

  int64_t count() const { return order_.closed ? order_.pieces : (order_.targets + kNodes - 1) / kNodes; }
  int64_t begin(int64_t r) const { return order_.closed ? order_.piece_ptr[r] : r * kNodes; }
  int64_t end(int64_t r) const {
    return order_.closed ? order_.piece_ptr[r + 1] : std::min((r + 1) * kNodes, order_.targets);
  }
  /// Number of ranges of sources, if pieces are not closed.
  int64_t source_count() const { return (order_.sources + kNodes - 1) / kNodes; }
  int64_t source_end(int64_t r) const { return std::min((r + 1) * kNodes, order_.sources); }
  int64_t largest() const {
    int64_t max = 0;
    for (int64_t r = 0; r < count(); ++r) max = std::max(max, end(r) - begin(r));
    return max;
  }
  /// Number of groups of closed pieces. Sums of weight gradients are kept separate by group and added in
  /// order.
  int64_t groups() const { return groups_of(count()); }
  static int64_t groups_of(int64_t pieces) { return std::clamp<int64_t>(pieces / 4, 1, 16); }

 private:
  EdgeOrder order_;
};

/// Returns the shape of a layer without data, for its workspace (ops/attention/attention_bytes.h). Call it
/// while a MetaTensors is active.
AttentionShape shape_of(const AttentionTensors& in, const AttentionSizes& sizes,
                        const AttentionOptions& options);
/// Returns the number of groups of pieces or ranges from which the workspace of such a layer is computed.
int64_t workspace_groups(const AttentionShape& shape);

/// Runs transpose_edge_order() into a tensor, which must outlive the view.
OutEdges out_edges(const EdgeOrder& order, at::Tensor& buffer);

/// A thread's buffer for the gradient of z of one piece, rounded for products. It is empty if rows are stored
/// in the type of sums.
class RoundedRows {
 public:
  RoundedRows(const at::Tensor& x, int64_t rows, int64_t columns);
  /// Returns the rows of `sums` in the stored type; valid until the next call.
  at::Tensor round(const at::Tensor& sums) const;

 private:
  at::Tensor buffer_;
};

}  // namespace plimsoll
