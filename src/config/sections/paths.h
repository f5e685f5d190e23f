#pragma once

#include <cstdint>

#include "base/words.h"
#include "config/checks.h"
#include "kernels/path_message/path_words.h"

namespace plimsoll {

/// A reduction of messages, or of a graph's nodes.
enum class PathReduce : uint8_t { sum, mean };
template <>
inline constexpr auto kWords<PathReduce> = std::to_array<std::string_view>({"sum", "mean"});

/// The normalisation of the nodes after each interaction.
enum class PathNorm : uint8_t { none, batch };
template <>
inline constexpr auto kWords<PathNorm> = std::to_array<std::string_view>({"none", "batch"});

/// The options of SGMP and GTMP, models that pass messages along paths of three edges between nodes with
/// coordinates. visit_keys() lists the keys of the recipe's section `paths`, visit_options() what a model
/// file stores; the rest is set when a model is made or read.
struct SgmpOptions {
  int64_t in_features = 0;  ///< Number of node features.
  int64_t hidden = 64;
  int64_t layers = 3;
  PathMode mode = PathMode::corrected;
  double cutoff = 10;    ///< Largest distance that the Gaussians cover.
  int64_t centers = 50;  ///< Number of Gaussians that a distance is spread over.
  int64_t tile = 256;    ///< Maximum number of paths in memory at once.
  PathDirection direction = PathDirection::both;
  bool distances_only = false;  ///< Whether angles and torsions are left out.
  PathReduce aggregate = PathReduce::sum;
  int64_t spanning_trees = 0;  ///< 0: use all paths. N > 0: use the paths of random spanning trees, of one
                               ///< tree in training and of N trees, averaged, in evaluation.
  PathReduce readout = PathReduce::sum;
  PathNorm norm = PathNorm::none;
  bool gtmp = false;  ///< Whether the model is GTMP, which pools the outputs of nodes, not their embeddings.
  int64_t classes = 2;       ///< Number of classes, or of values.
  bool node_head = false;    ///< Whether outputs are per node, not per graph.
  bool values = false;       ///< Whether outputs are values, not logits of classes.
  bool standardize = false;  ///< Whether node features are standardised (nn/feature_units.h).

  AutoOrNumber asked_cutoff = {};  ///< The recipe's key `cutoff`, from which `cutoff` is computed.
};

template <EitherOf<SgmpOptions> Section, typename Visit>
void visit_keys(Section& paths, Visit&& visit) {
  visit("hidden", paths.hidden, Range{2, 4096});
  visit("layers", paths.layers, Range{1, 64});
  visit("mode", paths.mode, Choice<PathMode>{});
  visit("cutoff", paths.asked_cutoff, AutoOr{1e-30, 1e30});
  visit("tile", paths.tile, Range{16, 65536});
  visit("direction", paths.direction, Choice<PathDirection>{});
  visit("distances_only", paths.distances_only, Flag{});
  visit("aggregate", paths.aggregate, Choice<PathReduce>{});
  visit("spanning_trees", paths.spanning_trees, Range{0, 65535});
  visit("readout", paths.readout, Choice<PathReduce>{});
  visit("norm", paths.norm, Choice<PathNorm>{});
  visit("centers", paths.centers, Range{2, 4096});
}

/// Lists the options of a model file (engine/model_file/model_options.h).
void visit_options(EitherOf<SgmpOptions> auto& options, const auto& visit, const auto& later) {
  visit("in_features", options.in_features, kSizeOption);
  visit("hidden", options.hidden, kSizeOption);
  visit("layers", options.layers, kLayersOption);
  visit("mode", options.mode);
  visit("cutoff", options.cutoff, RealOption{1e-30, 1e30});
  visit("tile", options.tile, kSizeOption);
  visit("direction", options.direction);
  visit("distances_only", options.distances_only);
  later("aggregate", options.aggregate);
  later("spanning_trees", options.spanning_trees, WholeOption{0, 65535});
  later("readout", options.readout);
  later("norm", options.norm);
  later("centers", options.centers, WholeOption{2, 4096});
  visit("classes", options.classes, kSizeOption);
  visit("node_head", options.node_head);
  later("values", options.values);
}

}  // namespace plimsoll
