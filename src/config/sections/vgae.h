#pragma once

#include <cstdint>
#include <vector>

#include "base/words.h"
#include "config/checks.h"
#include "config/sections/model_preset.h"

namespace plimsoll {

/// The decoder's output activation: sigmoid for features in [0, 1], tanh for features in [-1, 1].
enum class VgaeOutput : uint8_t { sigmoid, tanh };
template <>
inline constexpr auto kWords<VgaeOutput> = std::to_array<std::string_view>({"sigmoid", "tanh"});

/// The options of a GraphAutoencoderNeighborhood. visit_keys() lists the keys of the recipe's section `vgae`,
/// visit_options() what a model file stores; the rest is set when a model is made. The defaults are the
/// published small preset, with 85,908 parameters at 2,049 IDs.
struct VgaeOptions {
  /// Number of rows of the embedding and of classes of the ID heads: one per ID of the vocabulary, and one
  /// for unknown IDs.
  int64_t num_ids = 2049;
  int64_t in_features = 11;  ///< Number of node features, of which the first is the ID index.
  int64_t embedding = 4;
  /// Widths of the encoder's layers; a last one equal to `latent` is dropped.
  std::vector<int64_t> hidden = {80, 40};
  int64_t latent = 16;
  /// Heads of the encoder's first layer, if their number divides its width; the other layers have one.
  int64_t heads = 1;
  /// Heads of the decoder's first layer, if their number divides its width and the layer is not the last.
  int64_t decoder_heads = 4;
  double dropout = 0.1;
  VgaeOutput output = VgaeOutput::sigmoid;
  int64_t edge_features = 0;  ///< Number of edge features that attention reads; 0: none.

  // Keys that exist only in the recipe.
  ModelPreset preset = ModelPreset::small;
  bool use_edge_features = false;  ///< The key `edge_features`.
  double learning_rate = 0;        ///< 0: use training.learning_rate.
};

/// Sets the sizes and the preset; the other options get their defaults.
void apply_preset(VgaeOptions& vgae, ModelPreset preset);

template <EitherOf<VgaeOptions> Section, typename Visit>
void visit_keys(Section& vgae, Visit&& visit) {
  visit("preset", vgae.preset, Preset<Section>{vgae});
  visit("edge_features", vgae.use_edge_features, Flag{});
  visit("embedding", vgae.embedding, Range{1, 65536});
  visit("hidden", vgae.hidden, EachInRange{1, 65536});
  visit("latent", vgae.latent, Range{1, 65536});
  visit("heads", vgae.heads, Range{1, 1024});
  visit("dropout", vgae.dropout, Range{0, 0.99});
  visit("learning_rate", vgae.learning_rate, Range{0, 1e3});
}

/// Lists the options of a model file (engine/model_file/model_options.h).
void visit_options(EitherOf<VgaeOptions> auto& options, const auto& visit, const auto&) {
  visit("num_ids", options.num_ids, kSizeOption);
  visit("in_features", options.in_features, kSizeOption);
  visit("embedding", options.embedding, kSizeOption);
  visit("hidden", options.hidden, kSizeOption);
  visit("latent", options.latent, kSizeOption);
  visit("heads", options.heads, kSizeOption);
  visit("decoder_heads", options.decoder_heads, kSizeOption);
  visit("dropout", options.dropout, kDropoutOption);
  visit("output", options.output);
  visit("edge_features", options.edge_features, kSizeOrNoneOption);
}

}  // namespace plimsoll
