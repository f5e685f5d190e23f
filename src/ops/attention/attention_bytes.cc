#include "ops/attention/attention_bytes.h"

#include <algorithm>

#include "kernels/gat/gat.h"
#include "kernels/gatv2/gatv2.h"
#include "ops/attention/attention_layer.h"

namespace plimsoll {
namespace {

int64_t parts(int64_t count, int64_t size) {
  return (count + size - 1) / size;
}

// Sizes of one layer, in bytes unless stated otherwise.
struct Layer {
  const AttentionShape& shape;
  int64_t stored = static_cast<int64_t>(c10::elementSize(shape.dtype));
  int64_t sum = static_cast<int64_t>(c10::elementSize(sum_type(shape.dtype)));
  bool rounds = stored != sum;
  int64_t width = shape.heads * shape.channels;  // Width in numbers, not bytes.
  bool closed = shape.order.closed && !shape.other_targets;

  int64_t rows(int64_t nodes) const { return nodes * width * stored; }
  int64_t sum_rows(int64_t nodes) const { return nodes * width * sum; }
  int64_t scores(int64_t nodes) const { return nodes * shape.heads * sum; }
  int64_t alpha() const {
    return shape.return_attention ? scores(shape.edges + (shape.loops ? shape.targets : 0)) : 0;
  }
  // Number of ranges of nodes, of groups of ranges, and of threads that process a given number of ranges.
  int64_t ranges() const { return closed ? shape.order.pieces : parts(shape.targets, kProductRows); }
  int64_t groups() const { return AttentionRanges::groups_of(ranges()); }
  int64_t threads(int64_t work) const { return std::min<int64_t>(shape.threads, work); }
  // Returns the bytes that a product of bf16 needs: packed operands, and the result in f32 before it is
  // added.
  int64_t product_buffer(int64_t max_rows, int64_t features) const {
    if (!rounds) return 0;
    return 2 * (max_rows * (width + features) + width * features) * sum;
  }
  // Returns the bytes of `handoff`, which has two numbers per score, and of the edges by source.
  int64_t handed_on() const {
    return scores(2 * (shape.order.edges + (shape.loops ? shape.targets : 0))) +
           (shape.sources + 1 + 2 * shape.order.edges) * static_cast<int64_t>(sizeof(int32_t));
  }
};

AttentionBytes with_peak(int64_t output, int64_t peak) {
  return {.output = output, .saved = 0, .workspace = std::max<int64_t>(peak - output, 0)};
}

}  // namespace

AttentionBytes gat_bytes(const AttentionShape& shape) {
  const Layer layer{shape};
  const EdgeOrder order{.max_in = shape.order.max_in};
  const int64_t threads = layer.threads(layer.ranges());
  const bool keep = shape.keep_projection;
  const int64_t scratch = threads * gat_scratch_size(order, shape.heads) * layer.sum;
  const int64_t z = keep           ? 0
                    : layer.closed ? threads * layer.rows(shape.order.largest)
                                   : layer.rows(shape.sources);
  const int64_t small = layer.rounds ? layer.sum_rows(3) + shape.edge_features * shape.heads * layer.sum : 0;
  const int64_t rows = layer.closed ? shape.order.largest : kProductRows;
  // W and x in the type of sums, the folded W, and the scores.
  const int64_t precise =
      layer.rounds
          ? ((layer.width + 4 * shape.heads) * shape.features +
             shape.threads * std::min(kProductRows, shape.sources) * (shape.features + 2 * shape.heads)) *
                layer.sum
          : 0;
  return {.output = layer.rows(shape.targets) + layer.alpha(),
          .saved = (keep ? layer.rows(shape.sources) : 0) + layer.scores(shape.sources + 3 * shape.targets),
          .workspace = precise + scratch + z + small + threads * layer.product_buffer(rows, shape.features)};
}

AttentionBytes gat_backward_bytes(const AttentionShape& shape, bool needs_x, bool needs_edge_attr) {
  const Layer layer{shape};
  const EdgeOrder order{.max_in = shape.order.max_in};
  const int64_t weights = layer.width * shape.features;
  const int64_t q = shape.edge_features * shape.heads;
  // Gradients of att_source, att_target, bias and q.
  const int64_t small = (shape.other_targets ? 2 : 3) * layer.width + q;
  const int64_t x = needs_x ? shape.sources * shape.features * layer.stored : 0;
  const int64_t edge_attr = needs_edge_attr ? shape.edges * shape.edge_features * layer.stored : 0;
  const int64_t target_score = shape.other_targets ? shape.targets * shape.heads * layer.stored : 0;
  const int64_t output = x + edge_attr + target_score + (weights + small) * layer.stored;
  const int64_t rounded = layer.rounds ? (weights + 2 * small) * layer.sum + output : 0;
  const int64_t always = x + edge_attr + layer.scores(shape.sources + shape.targets) + rounded;
  const int64_t scratch = gat_scratch_size(order, shape.heads) * layer.sum;
  if (layer.closed) {
    const int64_t piece = shape.order.largest;
    const int64_t thread = scratch + layer.sum_rows(piece) + (layer.rounds ? layer.rows(piece) : 0) +
                           (shape.keep_projection ? 0 : layer.rows(piece)) +
                           layer.product_buffer(piece, shape.features);
    return with_peak(output, always + layer.groups() * (weights + small) * layer.sum +
                                 layer.threads(layer.groups()) * thread);
  }
  const int64_t sums = std::max<int64_t>({layer.ranges(), parts(shape.sources, kProductRows), 1});
  const int64_t open = layer.handed_on() + layer.sum_rows(shape.sources) +
                       (shape.keep_projection ? 0 : layer.rows(shape.sources)) + sums * small * layer.sum +
                       transposed_groups(shape.sources) * weights * layer.sum;
  const int64_t products = shape.threads * layer.product_buffer(kProductRows, shape.features);
  return with_peak(output, always + open + std::max(layer.threads(layer.ranges()) * scratch, products));
}

AttentionBytes gatv2_bytes(const AttentionShape& shape) {
  const Layer layer{shape};
  const EdgeOrder order{.max_in = shape.order.max_in};
  const int64_t threads = layer.threads(layer.ranges());
  const bool own = !shape.share_weights || shape.other_targets;  // Whether targets have a separate
                                                                 // projection.
  const bool keep = shape.keep_projection;
  const int64_t all = layer.rows(shape.sources) + (own ? layer.rows(shape.targets) : 0);
  const int64_t scratch =
      gatv2_scratch_size(order, shape.heads, shape.channels, shape.edge_features) * layer.sum;
  const int64_t z = keep ? 0 : layer.closed ? threads * (own ? 2 : 1) * layer.rows(shape.order.largest) : all;
  const int64_t small = layer.rounds ? layer.sum_rows(2 + shape.edge_features) : 0;
  const int64_t rows = layer.closed ? shape.order.largest : kProductRows;
  return {.output = layer.rows(shape.targets) + layer.alpha(),
          .saved = (keep ? all : 0) + layer.scores(2 * shape.targets),
          .workspace = threads * scratch + z + small +
                       threads * layer.product_buffer(rows, std::max(shape.features, shape.target_features))};
}

AttentionBytes gatv2_backward_bytes(const AttentionShape& shape, bool needs_x, bool needs_edge_attr) {
  const Layer layer{shape};
  const EdgeOrder order{.max_in = shape.order.max_in};
  const bool own = !shape.share_weights || shape.other_targets;
  const int64_t weights = layer.width * shape.features;
  const int64_t target_weights =
      own ? layer.width * (shape.other_targets ? shape.target_features : shape.features) : 0;
  const int64_t biases = shape.bias ? (own ? 2 : 1) * layer.width : 0;
  const int64_t small = (2 + shape.edge_features) * layer.width;  // Gradients of att, bias and edge_weight.
  const int64_t x = needs_x ? shape.sources * shape.features * layer.stored : 0;
  const int64_t x_target = shape.other_targets ? shape.targets * shape.target_features * layer.stored : 0;
  const int64_t edge_attr = needs_edge_attr ? shape.edges * shape.edge_features * layer.stored : 0;
  const int64_t projections = weights + target_weights + biases;
  const int64_t output = x + x_target + edge_attr + (projections + small) * layer.stored;
  const int64_t rounded = layer.rounds ? (projections + 2 * small) * layer.sum + output : 0;
  const int64_t always = x + x_target + edge_attr + rounded;
  const int64_t scratch =
      gatv2_scratch_size(order, shape.heads, shape.channels, shape.edge_features) * layer.sum;
  const int64_t features = std::max(shape.features, shape.target_features);
  const int64_t both = own ? 2 : 1;
  if (layer.closed) {
    const int64_t piece = shape.order.largest;
    const int64_t thread = scratch + both * layer.sum_rows(piece) + (layer.rounds ? layer.rows(piece) : 0) +
                           (shape.keep_projection ? 0 : both * layer.rows(piece)) +
                           (shape.bias ? layer.sum_rows(1) : 0) + layer.product_buffer(piece, features);
    return with_peak(output, always + layer.groups() * (projections + small) * layer.sum +
                                 layer.threads(layer.groups()) * thread);
  }
  const int64_t sums = std::max<int64_t>(layer.ranges(), 1) * small * layer.sum;
  const int64_t dz = layer.sum_rows(shape.sources) + (own ? layer.sum_rows(shape.targets) : 0);
  const int64_t z =
      shape.keep_projection ? 0 : layer.rows(shape.sources) + (own ? layer.rows(shape.targets) : 0);
  // The buffers of all parts of the products except the first, which is part of the output. If targets and
  // sources are different nodes, targets have separate buffers.
  const int64_t first =
      projections * layer.sum + (transposed_groups(shape.sources) - 1) * weights * layer.sum;
  const int64_t second =
      shape.other_targets ? (transposed_groups(shape.targets) - 1) * target_weights * layer.sum : 0;
  const int64_t buffer = shape.threads * layer.product_buffer(kProductRows, features);
  const int64_t threads = layer.threads(std::max(layer.ranges(), parts(shape.sources, kProductRows)));
  return with_peak(output, always + layer.handed_on() + dz + z + sums + first + second +
                               std::max(threads * scratch, buffer));
}

}  // namespace plimsoll
