#pragma once

#include <cstdint>

#include "base/words.h"
#include "config/checks.h"
#include "kernels/segment/segment.h"

namespace plimsoll {

enum class ConvKind : uint8_t { gat, gatv2, gcn, gin, sage };
template <>
inline constexpr auto kWords<ConvKind> = std::to_array<std::string_view>({"gat", "gatv2", "gcn", "gin",
                                                                          "sage"});

constexpr bool is_attention(ConvKind conv) {
  return conv == ConvKind::gat || conv == ConvKind::gatv2;
}

/// The normalisation after a convolution: `batch` normalises over a block, `graph` is GraphNorm.
enum class NormKind : uint8_t { none, batch, graph };
template <>
inline constexpr auto kWords<NormKind> = std::to_array<std::string_view>({"none", "batch", "graph"});

/// The layers whose outputs are used (Xu et al., ICML 2018).
enum class LayerJoin : uint8_t { last, cat, max };
template <>
inline constexpr auto kWords<LayerJoin> = std::to_array<std::string_view>({"last", "cat", "max"});

/// The options of a Gnn. visit_keys() lists the keys of the recipe's section `gnn`, visit_options() what a
/// model file stores; the rest is set when a model is made or read.
struct GnnOptions {
  ConvKind conv = ConvKind::gin;
  int64_t in_features = 0;    ///< Number of node features.
  int64_t edge_features = 0;  ///< Number of edge features, which only gat and gatv2 read.
  /// Whether the first edge feature is the weight of the edge, by which the convolutions other than gat and
  /// gatv2 multiply.
  bool edge_weight = false;
  int64_t num_ids = 0;  ///< If above 0, the first node feature is an index below num_ids, which is embedded.
  int64_t embedding = 8;
  int64_t layers = 3;
  int64_t hidden = 64;  ///< Channels of a layer; for gat and gatv2, the total of all heads.
  int64_t heads = 1;
  NormKind norm = NormKind::none;
  LayerJoin jk = LayerJoin::last;
  Reduce pooling = Reduce::mean;  ///< Pooling of a graph's nodes.
  double dropout = 0;
  int64_t classes = 2;       ///< Number of classes, or of values.
  bool node_head = false;    ///< Whether outputs are per node, not per graph.
  bool values = false;       ///< Whether outputs are values, not logits of classes.
  bool standardize = false;  ///< Whether node features are standardised (nn/feature_units.h).
};

template <EitherOf<GnnOptions> Section, typename Visit>
void visit_keys(Section& gnn, Visit&& visit) {
  visit("conv", gnn.conv, Choice<ConvKind>{});
  visit("edge_weight", gnn.edge_weight, Flag{});
  visit("embedding", gnn.embedding, Range{1, 65536});
  visit("layers", gnn.layers, Range{1, 64});
  visit("hidden", gnn.hidden, Range{1, 65536});
  visit("heads", gnn.heads, Range{1, 1024});
  visit("norm", gnn.norm, Choice<NormKind>{});
  visit("jk", gnn.jk, Choice<LayerJoin>{});
  visit("pooling", gnn.pooling, Choice<Reduce>{});
  visit("dropout", gnn.dropout, Range{0, 0.99});
}

/// Lists the options of a model file (engine/model_file/model_options.h).
void visit_options(EitherOf<GnnOptions> auto& options, const auto& visit, const auto& later) {
  visit("conv", options.conv);
  visit("in_features", options.in_features, kSizeOption);
  visit("edge_features", options.edge_features, kSizeOrNoneOption);
  later("edge_weight", options.edge_weight);
  visit("num_ids", options.num_ids, kSizeOrNoneOption);
  visit("embedding", options.embedding, kSizeOption);
  visit("layers", options.layers, kLayersOption);
  visit("hidden", options.hidden, kSizeOption);
  visit("heads", options.heads, kSizeOption);
  visit("norm", options.norm);
  visit("jk", options.jk);
  visit("pooling", options.pooling);
  visit("dropout", options.dropout, kDropoutOption);
  visit("classes", options.classes, kSizeOption);
  visit("node_head", options.node_head);
  later("values", options.values);
}

}  // namespace plimsoll
