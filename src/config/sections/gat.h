#pragma once

#include <cstdint>

#include "base/words.h"
#include "config/checks.h"
#include "config/sections/model_preset.h"
#include "kernels/segment/segment.h"

namespace plimsoll {

enum class AttentionKind : uint8_t { gat, gatv2 };
template <>
inline constexpr auto kWords<AttentionKind> = std::to_array<std::string_view>({"gat", "gatv2"});

/// How JumpingKnowledge combines the outputs of layers (nn/jumping_knowledge.h).
enum class JkMode : uint8_t { cat, max, lstm };
template <>
inline constexpr auto kWords<JkMode> = std::to_array<std::string_view>({"cat", "max", "lstm"});

/// The options of a GATWithJK. visit_keys() lists the keys of the recipe's section `gat`; visit_options()
/// lists what a model file stores; the rest is set when a model is made. The defaults are the published small
/// preset, with 65,354 parameters at 2,049 IDs.
struct GatOptions {
  int64_t num_ids = 2049;    ///< Rows of the embedding: one per ID of the vocabulary, and one for unknown
                             ///< IDs.
  int64_t in_features = 11;  ///< Number of node features, of which the first is the ID index.
  int64_t embedding = 8;
  int64_t layers = 2;
  int64_t hidden = 24;  ///< Channels of one head.
  int64_t heads = 4;
  double dropout = 0.1;
  int64_t fc_layers = 2;
  int64_t classes = 2;
  AttentionKind attention = AttentionKind::gat;
  int64_t edge_features = 0;  ///< Number of edge features that attention reads; 0: none.
  JkMode jk = JkMode::cat;
  Reduce pooling = Reduce::mean;  ///< Pooling of a graph's nodes.

  // Keys that exist only in the recipe.
  ModelPreset preset = ModelPreset::small;
  bool use_edge_features = true;  ///< The key `edge_features`.
  double id_dropout = 0;          ///< Share of training graphs whose IDs are replaced by the unknown ID.
  double learning_rate = 0;       ///< 0: use training.learning_rate.
};

/// Sets the sizes and the preset; the other options get their defaults.
void apply_preset(GatOptions& gat, ModelPreset preset);

template <EitherOf<GatOptions> Section, typename Visit>
void visit_keys(Section& gat, Visit&& visit) {
  visit("preset", gat.preset, Preset<Section>{gat});
  visit("attention", gat.attention, Choice<AttentionKind>{});
  visit("edge_features", gat.use_edge_features, Flag{});
  visit("embedding", gat.embedding, Range{1, 65536});
  visit("layers", gat.layers, Range{1, 64});
  visit("hidden", gat.hidden, Range{1, 65536});
  visit("heads", gat.heads, Range{1, 1024});
  visit("jk", gat.jk, Choice<JkMode>{});
  visit("pooling", gat.pooling, Choice<Reduce>{});
  visit("dropout", gat.dropout, Range{0, 0.99});
  visit("fc_layers", gat.fc_layers, Range{1, 64});
  visit("id_dropout", gat.id_dropout, Range{0, 1});
  visit("learning_rate", gat.learning_rate, Range{0, 1e3});
}

/// Lists the options of a model file (engine/model_file/model_options.h).
void visit_options(EitherOf<GatOptions> auto& options, const auto& visit, const auto& later) {
  visit("num_ids", options.num_ids, kSizeOption);
  visit("in_features", options.in_features, kSizeOption);
  visit("embedding", options.embedding, kSizeOption);
  visit("layers", options.layers, kLayersOption);
  visit("hidden", options.hidden, kSizeOption);
  visit("heads", options.heads, kSizeOption);
  visit("dropout", options.dropout, kDropoutOption);
  visit("fc_layers", options.fc_layers, kLayersOption);
  later("attention", options.attention);
  later("edge_features", options.edge_features, kSizeOrNoneOption);
  later("jk", options.jk);
  later("pooling", options.pooling);
}

}  // namespace plimsoll
