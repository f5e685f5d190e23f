#pragma once

#include <cstdint>
#include <string>

#include "base/words.h"
#include "config/checks.h"
#include "config/sections/block.h"

namespace plimsoll {

enum class OptimizerKind : uint8_t { adam, adamw, sgd };
template <>
inline constexpr auto kWords<OptimizerKind> = std::to_array<std::string_view>({"adam", "adamw", "sgd"});

/// The schedule of the learning rate (engine/fit/schedule.h).
enum class ScheduleKind : uint8_t { constant, step, cosine, plateau };
template <>
inline constexpr auto kWords<ScheduleKind> = std::to_array<std::string_view>({"constant", "step", "cosine",
                                                                              "plateau"});

enum class Precision : uint8_t { full, bf16_mixed, fp16_mixed };
template <>
inline constexpr auto kWords<Precision> = std::to_array<std::string_view>({"32", "bf16-mixed", "16-mixed"});
// Accepts Lightning's word for full precision.
inline void translate_word(Precision, std::string& text) {
  if (text == "32-true") text = "32";
}

/// Whether the backward pass recomputes the outputs of layers. `automatic` decides by the budget.
enum class GradientCheckpointing : uint8_t { automatic, on, off };
template <>
inline constexpr auto kWords<GradientCheckpointing> = std::to_array<std::string_view>({"auto", "on", "off"});
// Users may write true and false, which YAML does not read as the words `on` and `off`.
inline void translate_word(GradientCheckpointing, std::string& text) {
  if (text == "true") text = "on";
  if (text == "false") text = "off";
}

/// Number of lanes of a batch. The gradients of each lane are summed separately (engine/blocks/lane_tree.h).
/// `automatic` decides by the number of parameters.
enum class LaneCount : uint8_t { automatic, one, two, four, eight, sixteen, thirty_two, sixty_four };
template <>
inline constexpr auto kWords<LaneCount> = std::to_array<std::string_view>({"auto", "1", "2", "4", "8", "16",
                                                                           "32", "64"});

struct TrainingSection {
  int64_t max_epochs = 30;
  int64_t batch_size = 256;
  double learning_rate = 1e-3;
  OptimizerKind optimizer = OptimizerKind::adam;
  double weight_decay = 1e-4;
  double momentum = 0;
  ScheduleKind schedule = ScheduleKind::constant;
  /// Epochs from one reduction to the next (step), or tolerated without a better validation loss (plateau).
  int64_t schedule_epochs = 10;
  double schedule_factor = 0.1;    ///< Factor of a reduction (step and plateau).
  int64_t warm_up_epochs = 0;      ///< Epochs in which the rate rises from 0; the schedule starts after them.
  double gradient_clip_val = 1.0;  ///< Maximum 2-norm of the gradient; 0: no clipping.
  int64_t patience = 10;           ///< Epochs in a row without a better validation loss before the run ends.
  Precision precision = Precision::full;
  GradientCheckpointing gradient_checkpointing = GradientCheckpointing::automatic;
  LaneCount lanes = LaneCount::automatic;
  /// Seconds between checkpoints, in addition to one after each epoch; 0: a checkpoint after every step.
  double checkpoint_every_s = 300;
  BlockSection block;
};

/// Lists all keys except those of the block.
template <EitherOf<TrainingSection> Section, typename Visit>
void visit_keys(Section& training, Visit&& visit) {
  visit("max_epochs", training.max_epochs, Range{1, 1e6});
  visit("batch_size", training.batch_size, kCount);
  visit("learning_rate", training.learning_rate, Range{0, 1e3});
  visit("optimizer", training.optimizer, Choice<OptimizerKind>{});
  visit("weight_decay", training.weight_decay, Range{0, 1e3});
  visit("momentum", training.momentum, Range{0, 0.9999});
  visit("schedule", training.schedule, Choice<ScheduleKind>{});
  visit("schedule_epochs", training.schedule_epochs, Range{1, 1e6});
  visit("schedule_factor", training.schedule_factor, Range{0, 1});
  visit("warm_up_epochs", training.warm_up_epochs, Range{0, 1e6});
  visit("gradient_clip_val", training.gradient_clip_val, Range{0, kUnbounded});
  visit("patience", training.patience, kCount);
  visit("precision", training.precision, Choice<Precision>{});
  visit("gradient_checkpointing", training.gradient_checkpointing, Choice<GradientCheckpointing>{});
  visit("lanes", training.lanes, Choice<LaneCount>{});
  visit("checkpoint_every_s", training.checkpoint_every_s, Range{0, 1e9});
}

}  // namespace plimsoll
