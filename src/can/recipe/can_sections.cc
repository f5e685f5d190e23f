#include "can/recipe/can_sections.h"

#include <array>

#include "can/recipe/foreign_names.h"

namespace plimsoll {
namespace {

// The keys that these sections had in the first version. Never add or remove a key: every existing run would
// get another identity.
constexpr auto kFrozenCanKeys = std::to_array<std::string_view>({"data.features",
                                                                 "data.window",
                                                                 "data.stride",
                                                                 "data.calibration",
                                                                 "gat.preset",
                                                                 "gat.attention",
                                                                 "gat.edge_features",
                                                                 "gat.embedding",
                                                                 "gat.layers",
                                                                 "gat.hidden",
                                                                 "gat.heads",
                                                                 "gat.jk",
                                                                 "gat.pooling",
                                                                 "gat.dropout",
                                                                 "gat.fc_layers",
                                                                 "gat.id_dropout",
                                                                 "gat.learning_rate",
                                                                 "vgae.preset",
                                                                 "vgae.edge_features",
                                                                 "vgae.embedding",
                                                                 "vgae.hidden",
                                                                 "vgae.latent",
                                                                 "vgae.heads",
                                                                 "vgae.dropout",
                                                                 "vgae.learning_rate",
                                                                 "teacher.gat.preset",
                                                                 "teacher.gat.attention",
                                                                 "teacher.gat.edge_features",
                                                                 "teacher.gat.embedding",
                                                                 "teacher.gat.layers",
                                                                 "teacher.gat.hidden",
                                                                 "teacher.gat.heads",
                                                                 "teacher.gat.jk",
                                                                 "teacher.gat.pooling",
                                                                 "teacher.gat.dropout",
                                                                 "teacher.gat.fc_layers",
                                                                 "teacher.gat.id_dropout",
                                                                 "teacher.gat.learning_rate",
                                                                 "teacher.vgae.preset",
                                                                 "teacher.vgae.edge_features",
                                                                 "teacher.vgae.embedding",
                                                                 "teacher.vgae.hidden",
                                                                 "teacher.vgae.latent",
                                                                 "teacher.vgae.heads",
                                                                 "teacher.vgae.dropout",
                                                                 "teacher.vgae.learning_rate",
                                                                 "curriculum.schedule",
                                                                 "distillation.temperature",
                                                                 "distillation.alpha",
                                                                 "distillation.teacher_outputs"});

constexpr auto kDetectorTasks = std::to_array<std::string_view>({"autoencoder", "detection", "distillation"});

// The order is part of the identity of a run.
void add_can_keys(CanSections& can, RecipeKeys& keys) {
  keys.add_section_before("data.without", "data", can.windows);
  keys.add_section_before("features.standardize", "data", can.calibration);
  keys.add_section_before("gnn.conv", "gat", can.gat);
  keys.add_section_before("gnn.conv", "vgae", can.vgae);
  keys.add_section_before("gnn.conv", "teacher.gat", can.teacher.gat);
  keys.add_section_before("gnn.conv", "teacher.vgae", can.teacher.vgae);
  keys.add_section_before("gnn.conv", "curriculum", can.curriculum);
  keys.add_section_before("gnn.conv", "distillation", can.distillation);
}

}  // namespace

TeacherSection::TeacherSection() {
  apply_preset(gat, ModelPreset::large);
  apply_preset(vgae, ModelPreset::large);
}

void register_can_recipe() {
  register_recipe_part(
      {.defaults = CanSections(),
       .add_keys = [](std::any& part,
                      RecipeKeys& keys) { add_can_keys(*std::any_cast<CanSections>(&part), keys); },
       .settle =
           [](std::any& part, const WrittenValues& written) {
             settle_windows(std::any_cast<CanSections>(&part)->windows, written);
           },
       .frozen_keys = kFrozenCanKeys});
  register_task_names(kDetectorTasks, "detection");
  register_kdgat_names();
}

CanSections& can_sections(Recipe& recipe) {
  return recipe.parts.get<CanSections>();
}

const CanSections& can_sections(const Recipe& recipe) {
  return recipe.parts.get<CanSections>();
}

}  // namespace plimsoll
