#pragma once

#include <filesystem>

#include "config/recipe.h"

namespace plimsoll {

/// Where things stand in the folder of a run (docs/command-line.md).
struct RunFolder {
  std::filesystem::path root;

  std::filesystem::path recipe() const { return root / "recipe.yaml"; }
  std::filesystem::path manifest() const { return root / "manifest.json"; }
  std::filesystem::path evaluation() const { return root / "evaluation.json"; }
  std::filesystem::path stage(const Recipe& recipe, const std::string& name) const {
    return root / ("seed-" + std::to_string(recipe.seed)) / name;
  }
  std::filesystem::path model(const Recipe& recipe) const {
    return stage(recipe, "gat") / "model.safetensors";
  }
};

}  // namespace plimsoll
