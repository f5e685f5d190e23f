#include "engine/fit/trainer_state.h"

#include <algorithm>

#include "engine/plan/planner.h"
#include "memory/tape.h"
#include "ops/allocator.h"

namespace plimsoll {
namespace {

OptimizerOptions optimizer_options(const TrainingSection& training) {
  return {.kind = training.optimizer,
          .learning_rate = training.learning_rate,
          .weight_decay = training.weight_decay,
          .momentum = training.momentum};
}

std::unique_ptr<Optimizer> optimizer_of(const FitOptions& options) {
  const ParameterList& parameters = options.objective->parameters();
  const int rank = rank_of(options.run.exchange);
  return make_optimizer(values_of_rank(parameters, rank, options.run.ranks),
                        optimizer_options(options.recipe->training),
                        laziness_of_rank(parameters, rank, options.run.ranks));
}

size_t epochs_with_room(const FitOptions& options) {
  return static_cast<size_t>(std::min(options.recipe->training.max_epochs, kEpochsWithRoom));
}

// Returns the bytes that a TrainerState would need.
PendingAllocation missing_of(const FitOptions& options) {
  PendingAllocation missing;
  for (const ParameterList::Entry& entry : options.objective->parameters().all()) {
    const auto bytes = static_cast<int64_t>(entry.value.nbytes());
    missing.parameters += tensor_heap_bytes(bytes);
    if (entry.stored == nullptr) missing.parameters += bytes;  // The best weights.
  }
  if (options.teacher.live != nullptr)
    for (const ParameterList::Entry& entry : options.teacher.live->parameters().all())
      missing.parameters += tensor_heap_bytes(static_cast<int64_t>(entry.value.nbytes()));
  TapeRecorder recorder;
  const TapeScope scope(recorder);
  const auto optimizer = optimizer_of(options);
  for (const Tape::Piece& piece : recorder.tape.pieces) missing.optimizer += tensor_heap_bytes(piece.bytes);
  missing.columns = static_cast<int64_t>(options.split->training.size() * sizeof(int64_t));
  if (options.teacher.batches != nullptr) missing.columns += options.teacher.batches->bytes();
  missing.output = StepTrace::bytes(options.recipe->run.profile) +
                   static_cast<int64_t>(epochs_with_room(options) * sizeof(EpochMetrics));
  return missing;
}

// Returns the bytes that the stage needs after fit(), beyond the memory that is free once the best weights,
// the optimizer's state and the order of the graphs are released. A slab for predictions is never larger than
// one for training.
int64_t extra_bytes_after_fit(const FitOptions& options) {
  int64_t parameters = 0;
  for (const ParameterList::Entry& entry : options.objective->parameters().entries())
    parameters += static_cast<int64_t>(entry.value.nbytes());
  const auto order = static_cast<int64_t>(options.split->training.size() * sizeof(int64_t));
  const int64_t state = state_tensors(optimizer_options(options.recipe->training)) * parameters;
  return std::max<int64_t>(options.afterwards - parameters - state / options.run.ranks - order, 0);
}

}  // namespace

TrainerState::TrainerState(const FitOptions& options)
    : optimizer(optimizer_of(options)),
      best(options.objective->parameters()),
      order(options.split->training),
      trace(options.recipe->run.profile) {
  if (options.teacher.batches != nullptr) options.teacher.batches->make_room();
  position.epochs.reserve(epochs_with_room(options));
}

// If a block uses a parameter more than once, torch adds the gradients on the stream that first used the
// parameter, while memory is freed in the order of the block's own stream: the two streams must be the same.
int max_streams_of(const FitOptions& options) {
  const bool uses_one_twice = options.repeats_parameters || !options.source->prefix_shapes().empty();
  return uses_one_twice ? 1 : PlannedDevice::kMaxStreams;
}

MemoryPlan plan_with(const FitOptions& options, DeviceRun* device) {
  if (options.recipe->run.embeddings == EmbeddingPlace::disk && options.table == nullptr)
    throw UsageError(
        "run.embeddings: found disk, but the model learns no embeddings of nodes, which only nodes without "
        "features have; leave out run.embeddings");
  const TrainingSection& training = options.recipe->training;
  const bool tries = options.recipe->memory.estimation == Estimation::trial;
  PlanInput input{
      .source = options.source,
      .shapes = options.shapes,
      .objective = options.objective,
      .live_teacher = options.teacher.live != nullptr ? &options.teacher.live->parameters() : nullptr,
      .offloaded_teacher = options.teacher.batches,
      .limits = limits_of(training),
      .lanes = lanes_of(training, options.objective->parameters()),
      .ranks = options.run.ranks,
      .memory = options.run.memory,
      .prefetch = options.run.prefetch,
      .training = options.split->training,
      .seed = static_cast<uint64_t>(options.recipe->seed),
      .curriculum = options.curriculum,
      .fresh_epochs = options.split->fresh_epochs,
      .resampling = options.split->resampling,
      .epochs = training.max_epochs,
      .batch_size = training.batch_size,
      .predicted = {options.split->validation},
      .recompute = training.gradient_checkpointing,
      .estimation = options.run.without_data     ? Estimation::from_shapes
                    : tries && device == nullptr ? Estimation::trial
                                                 : Estimation::measured,
      .later = extra_bytes_after_fit(options),
      .optimizer_tensors = state_tensors(optimizer_options(training)),
      .device =
          device != nullptr ? device->planned() : device_without_data(options.run, max_streams_of(options))};
  if (options.run.without_data) input.missing = missing_of(options);
  MemoryPlan plan = make_plan(input);
  if (options.table != nullptr)
    plan.table = {options.table->rows(), options.table->slots(), options.table->file_bytes(),
                  options.table->reserved_bytes()};
  plan.set_table_budgets(options.table_budgets);
  plan.training_graphs = std::ssize(options.split->training);
  plan.validation_graphs = std::ssize(options.split->validation);
  plan.steps = (plan.training_graphs + training.batch_size - 1) / std::max<int64_t>(training.batch_size, 1);
  // The largest block of prediction ran there already. Lanes are made for the plan.
  if (tries && device != nullptr && plan.feasible)
    try_out(input, device->execution(*plan.device, plan.execution), {}, plan);
  return plan;
}

}  // namespace plimsoll
