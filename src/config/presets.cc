#include <fmt/format.h>

#include "base/error.h"
#include "config/recipe.h"

namespace plimsoll {

// Sizes from KD-GAT, graphids/config/models. old_teacher: the models behind its surviving metrics of Feb
// 2026.

void apply_preset(Recipe::Gat& gat, const std::string& preset) {
  if (preset == "small") {
    gat = {};
  } else if (preset == "large") {
    gat = {.embedding = 16, .layers = 3, .hidden = 48, .heads = 8, .dropout = 0.2, .fc_layers = 1};
  } else if (preset == "old_teacher") {
    gat = {.embedding = 32, .layers = 5, .hidden = 64, .heads = 8, .dropout = 0.2, .fc_layers = 3};
  } else {
    throw UsageError("no preset '" + preset + "' of gat; expected small, large or old_teacher");
  }
  gat.preset = preset;
}

void apply_preset(Recipe::Vgae& vgae, const std::string& preset) {
  if (preset == "small") {
    vgae = {};
  } else if (preset == "large") {
    vgae = {.embedding = 32, .hidden = {480, 240}, .latent = 48, .heads = 4, .dropout = 0.15};
  } else if (preset == "old_teacher") {
    vgae = {.embedding = 64, .hidden = {1024, 512, 96}, .latent = 96, .heads = 4, .dropout = 0.15};
  } else {
    throw UsageError("no preset '" + preset + "' of vgae; expected small, large or old_teacher");
  }
  vgae.preset = preset;
}

void apply_preset(Recipe::Training::Block& block, const std::string& preset) {
  if (preset == "cpu") {
    block = {};
  } else if (preset == "gpu") {
    // Sizes with which an H200 ran a large GAT and a large autoencoder (bench/results/gpu.md). `seeds` is not
    // measured.
    block = {.graphs = 512, .nodes = 65'536, .edges = 262'144, .seeds = 1024};
  } else {
    throw UsageError(fmt::format("no preset '{}' of training.block; expected cpu or gpu", preset));
  }
  block.preset = preset;
}

Recipe::Teacher::Teacher() {
  apply_preset(gat, "large");
  apply_preset(vgae, "large");
}

}  // namespace plimsoll
