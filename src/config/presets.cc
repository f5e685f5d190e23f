#include "config/sections/block.h"
#include "config/sections/gat.h"
#include "config/sections/vgae.h"

namespace plimsoll {

// Sizes from KD-GAT, graphids/config/models. old_teacher: the models behind its surviving metrics of Feb
// 2026.

void apply_preset(GatOptions& gat, ModelPreset preset) {
  switch (preset) {
    case ModelPreset::small:
      gat = {};
      break;
    case ModelPreset::large:
      gat = {.embedding = 16, .layers = 3, .hidden = 48, .heads = 8, .dropout = 0.2, .fc_layers = 1};
      break;
    case ModelPreset::old_teacher:
      gat = {.embedding = 32, .layers = 5, .hidden = 64, .heads = 8, .dropout = 0.2, .fc_layers = 3};
      break;
  }
  gat.preset = preset;
}

void apply_preset(VgaeOptions& vgae, ModelPreset preset) {
  switch (preset) {
    case ModelPreset::small:
      vgae = {};
      break;
    case ModelPreset::large:
      vgae = {.embedding = 32, .hidden = {480, 240}, .latent = 48, .heads = 4, .dropout = 0.15};
      break;
    case ModelPreset::old_teacher:
      vgae = {.embedding = 64, .hidden = {1024, 512, 96}, .latent = 96, .heads = 4, .dropout = 0.15};
      break;
  }
  vgae.preset = preset;
}

void apply_preset(BlockSection& block, BlockPreset preset) {
  switch (preset) {
    case BlockPreset::cpu:
      block = {};
      break;
    case BlockPreset::gpu:
      // Sizes with which an H200 ran a large GAT and a large autoencoder (bench/results/gpu.md). `seeds` was
      // not measured.
      block = {.graphs = 512, .nodes = 65'536, .edges = 262'144, .seeds = 1024};
      break;
  }
  block.preset = preset;
}

}  // namespace plimsoll
