#include "engine/fit/fit.h"

#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>

#include "base/seconds.h"
#include "engine/blocks/ending.h"
#include "engine/fit/epoch_meter.h"
#include "engine/fit/fit_journal.h"
#include "engine/fit/loss_scale.h"
#include "engine/fit/progress_events.h"
#include "engine/fit/schedule.h"
#include "engine/fit/trainer_state.h"
#include "engine/fit/whole_state.h"
#include "engine/plan/planner.h"
#include "io/file.h"
#include "nn/mixed_precision.h"

namespace plimsoll {
namespace {

// Throws UsageError if there are more ranks than can share a step.
void require_enough_work(const FitOptions& options) {
  if (options.run.ranks == 1) return;
  const TrainingSection& training = options.recipe->training;
  GraphList order(options.split->training);
  const EpochOrder first{options.split->training, options.curriculum,
                         static_cast<uint64_t>(options.recipe->seed), options.split->fresh_epochs,
                         options.split->resampling};
  first.graphs_of(1, order);
  const auto batch = std::span(order).first(std::min(order.size(), static_cast<size_t>(training.batch_size)));
  require_ranks(options.run.ranks, {lanes_of(training, options.objective->parameters()),
                                    count_blocks(batch, options.shapes, limits_of(training))});
}

// Returns null on the CPU. Errors: UsageError for options that do not work on a device.
std::unique_ptr<DeviceRun> device_of(const FitOptions& options) {
  if (options.run.device == nullptr) return nullptr;
  if (options.teacher.batches != nullptr)
    throw UsageError(
        "distillation.teacher_outputs: offload runs the teacher on the CPU; with --device cuda set it to "
        "live");
  std::vector<const ParameterList*> models = {&options.objective->parameters()};
  if (options.teacher.live != nullptr) models.push_back(&options.teacher.live->parameters());
  return std::make_unique<DeviceRun>(*options.run.device, models, max_streams_of(options));
}

bool has_loss_scale(const Recipe& recipe) {
  return recipe.training.precision == Precision::fp16_mixed;
}

// Holds the options, with an objective that computes in training.precision. Errors: UsageError for a
// precision that the CPU does not support.
class Precise {
 public:
  explicit Precise(const FitOptions& given) : options_(given) {
    if (given.recipe->training.precision == Precision::full) return;
    if (given.run.device == nullptr && !given.run.device_budget)
      throw UsageError(
          std::string(word_of(given.recipe->training.precision)) +
          " is a training.precision for a GPU: add --device cuda, or set it to 32, which is faster on the "
          "CPU; training.block saves memory");
    mixed_.emplace(*given.objective, has_loss_scale(*given.recipe) ? at::kHalf : at::kBFloat16);
    options_.objective = &*mixed_;
  }
  Precise(const Precise&) = delete;
  Precise& operator=(const Precise&) = delete;
  const FitOptions& options() const { return options_; }

 private:
  FitOptions options_;
  std::optional<MixedPrecision> mixed_;
};

// One run of fit(): its state, and its steps in the order in which they are executed.
class Fit {
 public:
  explicit Fit(const FitOptions& options)
      : options_(options),
        training_(options.recipe->training),
        parameters_(options.objective->parameters()),
        held_(options),
        checkpoints_(options.run.folder / "checkpoints", options.run.identity, options.run.roundings),
        journal_(options, held_.position),
        device_(device_of(options)),
        plan_(plan_with(options, device_.get())),
        engine_(*options.source, options.shapes, *options.objective, limits_of(training_), execution(),
                options.teacher.batches, lanes_of(training_, options.objective->parameters()),
                options.run.exchange),
        meter_(engine_.runner(), plan_.peak, options.source->reading_cost(plan_.execution.cache_bytes),
               DeviceMeter(device_.get(), plan_.device ? &*plan_.device : nullptr)),
        progress_(journal_.journal(), engine_.runner(), options.run) {
    if (options.table != nullptr) {
      options.table->attach(parameters_, *held_.optimizer);
      engine_.runner().on_read([table = options.table](const GraphBlock& block) { table->expect(block.x); });
    }
    if (options.run.writes()) checkpoints_.make_folder();
    options.source->resize_cache(plan_.execution.cache_bytes);
    engine_.runner().stop_when(options.run.interrupt);
    engine_.runner().watch(options.run.pressure,
                           [this](const BlockRunner::Event& event) { journal_.pressure(event); });
  }

  FitResult run() {
    begin();
    try {
      while (!ended()) {
        train_epoch();
        end_epoch();
        save_checkpoint();
      }
    } catch (const Interrupted& reason) {
      save_checkpoint();  // Weights and state are those after the last complete step.
      interrupt(reason);
    } catch (const DeviceRegionFull& error) {
      save_checkpoint();
      journal_.out_of_budget(error.what());
      throw BudgetTooSmall(fmt::format(
          "stopped in epoch {} after step {}; continue with --resume and a larger --device-budget: {}",
          position_.epoch, position_.step, error.what()));
    } catch (const BudgetExceeded& error) {
      save_checkpoint();
      journal_.out_of_budget(error.what());
      throw BudgetExceeded(
          fmt::format("stopped in epoch {} after step {}; continue with --resume and a larger budget",
                      position_.epoch, position_.step),
          error);
    }
    held_.best.restore();
    if (options_.table != nullptr) options_.table->restore_best();
    if (options_.run.writes()) write_metrics();
    const std::string weights = parameters_.hash();
    journal_.end(weights, engine_.runner());
    return {.epochs = {position_.epochs.begin(), position_.epochs.end()},
            .best_epoch = position_.best_epoch,
            .best_loss = position_.best_loss,
            .weights = weights,
            .plan = plan_,
            .steps = held_.optimizer->steps() - resumed_at_,
            .resumed_at = resumed_at_,
            .damaged = damaged_,
            .reruns = engine_.runner().reruns(),
            .sheds = engine_.runner().sheds(),
            .overflows = engine_.runner().overflows(),
            .unforeseen = engine_.runner().unforeseen(),
            .reading = reading_,
            .device = device_ ? std::optional(device_->use(*plan_.device)) : std::nullopt};
  }

 private:
  ExecutionPlan execution() {
    const ExecutionPlan host = require_feasible(plan_);
    if (!device_) return host;
    ExecutionPlan planned = device_->execution(*plan_.device, host);
    device_->keep_rows(*plan_.device, *options_.source);
    return planned;
  }

  TrainingState state() {
    return {parameters_, held_.best, *held_.optimizer, /*whole_state=*/{}, options_.table};
  }

  // Returns the optimizer's state for a checkpoint, if this process has only a slice of it.
  WholeState whole_state() {
    return {*options_.run.exchange,
            engine_.ranks()->slices(),
            parameters_,
            *held_.optimizer,
            {engine_.idle_row(), engine_.ranks()->idle_row()}};
  }
  int64_t epoch_count() const { return static_cast<int64_t>(held_.order.size()); }

  bool ended() const {
    const int64_t done = position_.epoch - 1;
    return done >= training_.max_epochs ||
           (position_.best_epoch > 0 && done - position_.best_epoch >= training_.patience);
  }

  void begin() {
    if (options_.run.resume) {
      engine_.ranks() != nullptr ? load_on_all_ranks() : load(state());
      resumed_at_ = held_.optimizer->steps();
    }
    if (options_.table != nullptr && !options_.table->has_started()) options_.table->start();
    if (has_loss_scale(*options_.recipe) && !position_.scale.on()) position_.scale.factor = LossScale::kFirst;
    journal_.damaged_checkpoints(damaged_);
    if (options_.run.writes())
      held_.trace.start(options_.run.folder, held_.optimizer->steps(), engine_.runner());
    journal_.start(resumed_at_ > 0, plan_, device_.get());
  }

  void load(const TrainingState& into) {
    if (auto found = checkpoints_.load(into, damaged_)) take(std::move(*found));
  }

  // Replaces the position, and keeps the memory reserved for epochs.
  void take(Position found) {
    position_.epochs.assign(found.epochs.begin(), found.epochs.end());
    std::swap(position_.epochs, found.epochs);
    position_ = std::move(found);
  }

  // Rank 0 reads the checkpoint and sends it to the other ranks.
  void load_on_all_ranks() {
    Exchange& exchange = *options_.run.exchange;
    WholeState optimizer = whole_state();
    if (exchange.rank() == 0) {
      TrainingState whole = state();
      whole.whole_state = optimizer.tensors();
      load(whole);
    }
    const std::string text = broadcast_text(exchange, position_text(position_, held_.optimizer->steps()));
    ReadPosition read = read_position(text);
    if (exchange.rank() != 0) {
      take(std::move(read.position));
      position_.epochs.resize(static_cast<size_t>(position_.epoch - 1));
    }
    if (!position_.epochs.empty()) broadcast(exchange, std::as_writable_bytes(std::span(position_.epochs)));
    held_.optimizer->set_steps(read.optimizer_steps);
    for (const ParameterList::Entry& entry : parameters_.all())
      broadcast(exchange, std::as_writable_bytes(std::span(entry.value.data_ptr<float>(),
                                                           static_cast<size_t>(entry.value.numel()))));
    broadcast(exchange, std::as_writable_bytes(held_.best.values()));
    optimizer.scatter();
  }

  // Returns how many graphs of this epoch the first `steps` steps use. A checkpoint of another program may
  // have any number of steps.
  int64_t graphs_in(int64_t steps) const {
    return steps > epoch_count() / training_.batch_size ? epoch_count() : steps * training_.batch_size;
  }

  // Returns the graphs of step `step` of this epoch; empty after the last step.
  std::span<const int64_t> batch(int64_t step) const {
    const int64_t first = graphs_in(step);
    const int64_t size = std::min(training_.batch_size, epoch_count() - first);
    return {held_.order.data() + first, static_cast<size_t>(size)};
  }

  void train_epoch() {
    epoch_start_ = std::chrono::steady_clock::now();
    seconds_before_ = position_.so_far.seconds;
    meter_.begin(position_.so_far.cost);
    journal_.begin_epoch(engine_.ranks());
    const auto seed = static_cast<uint64_t>(options_.recipe->seed);
    const auto epoch = static_cast<uint32_t>(position_.epoch);
    const EpochOrder order{options_.split->training, options_.curriculum, seed, options_.split->fresh_epochs,
                           options_.split->resampling};
    order.graphs_of(position_.epoch, held_.order);
    prepare_blocks();
    engine_.expect(batch(position_.step));
    for (;;) {
      const std::span<const int64_t> graphs = batch(position_.step);
      if (graphs.empty()) break;
      engine_.expect(batch(position_.step + 1));
      take_step(graphs, {true, seed, epoch});
      // Assumes that all epochs are as long as this one.
      const int64_t done = graphs_in(position_.step);
      const int64_t done_of_all = (position_.epoch - 1) * epoch_count() + done;
      options_.run.observer->on_progress(done_of_all, training_.max_epochs * epoch_count(), note_);
      count_seconds();
      meter_.look();
      progress_.report(position_, done_of_all, training_.max_epochs * epoch_count());
      if (engine_.ranks() != nullptr ? engine_.ranks()->flag() : is_checkpoint_due()) save_checkpoint();
    }
    engine_.runner().forget();
  }

  // Without the exchange, a rank that is interrupted here would save a checkpoint while the others exchange
  // the sums of a step.
  void prepare_blocks() {
    const auto prepare = [&] { engine_.runner().prepare(batch(position_.step)); };
    if (options_.run.exchange == nullptr) return prepare();
    require_all_done(*options_.run.exchange, error_of(prepare));
  }

  bool is_checkpoint_due() const { return seconds_since(last_checkpoint_) >= training_.checkpoint_every_s; }

  void take_step(std::span<const int64_t> graphs, const DropoutKey& key) {
    held_.trace.step();
    const StepTrace::Span span(held_.trace, "step");
    const RankStep of_ranks(options_.run.exchange);
    if (engine_.ranks() != nullptr) engine_.ranks()->set_flag(is_checkpoint_due());
    const double loss = engine_.gradient(graphs, key, position_.scale.on() ? position_.scale.factor : 1);
    position_.so_far.training_loss += loss * static_cast<double>(engine_.items(graphs));
    const int64_t done = graphs_in(position_.step + 1);
    position_.so_far.learning_rate =
        schedule_.rate(position_.epochs, static_cast<double>(done) / static_cast<double>(epoch_count()));
    const StepTrace::Span optimizer(held_.trace, "optimizer");
    held_.optimizer->set_learning_rate(position_.so_far.learning_rate);
    unscale_gradients();
    const double norm = clipped_norm();
    if (may_step(norm)) {
      position_.so_far.gradient_norm += norm;
      engine_.begin_parameters();
      held_.optimizer->step(engine_.gradients(), engine_.gradient_rows());
      engine_.share_parameters();
      if (options_.table != nullptr) options_.table->end_step(engine_.gradient_rows().front());
    }
    ++position_.step;
  }

  void unscale_gradients() const {
    if (!position_.scale.on()) return;
    const c10::AutoGradMode no_gradients(false);
    for (const at::Tensor& gradient : engine_.gradients()) gradient.mul_(1 / position_.scale.factor);
  }

  // Returns whether to apply the gradient; a gradient that is not finite is never applied. Errors: Failure if
  // no scale of the loss makes the gradient finite.
  bool may_step(double norm) {
    const bool finite = std::isfinite(norm);
    const bool has_scale = position_.scale.on();
    if (has_scale) position_.scale.take(finite);
    if (finite) return true;
    if (has_scale) journal_.loss_scale();
    if (has_scale && position_.scale.factor >= 1) return false;
    throw Failure(
        fmt::format("the gradient of step {} of epoch {} is not finite{}, and was not applied: lower "
                    "training.learning_rate{}; {}",
                    position_.step, position_.epoch,
                    has_scale ? " in float16, whatever the loss is scaled by" : ", while the loss is",
                    has_scale ? ", or set training.precision to bf16-mixed" : "", kOtherRecipe));
  }

  double clipped_norm() {
    const double longest = training_.gradient_clip_val;
    if (engine_.ranks() == nullptr)
      return clip_gradients(engine_.gradients(), longest, engine_.gradient_rows());
    return clip_gradients(engine_.gradients(), longest, *options_.run.exchange, engine_.ranks()->slices());
  }

  // Updates the seconds of the epoch, which include those of an earlier process.
  void count_seconds() { position_.so_far.seconds = seconds_before_ + seconds_since(epoch_start_); }

  double validate() {
    const StepTrace::Span span(held_.trace, "validation");
    return engine_.predict(options_.split->validation, [](std::span<const float>) {});
  }

  void end_epoch() {
    const double validation_loss = validate();
    count_seconds();
    meter_.look();
    position_.so_far.cost = meter_.cost(
        epoch_count() + static_cast<int64_t>(options_.split->validation.size()), position_.so_far.seconds);
    EpochMetrics metrics = position_.so_far;
    metrics.epoch = position_.epoch;
    metrics.training_loss /= static_cast<double>(std::max<int64_t>(engine_.items(held_.order), 1));
    metrics.gradient_norm /= static_cast<double>(std::max<int64_t>(position_.step, 1));
    metrics.validation_loss = validation_loss;
    if (metrics.validation_loss < position_.best_loss || position_.best_epoch == 0) {
      position_.best_loss = metrics.validation_loss;
      position_.best_epoch = metrics.epoch;
      held_.best.keep();
      if (options_.table != nullptr) options_.table->keep_best();
    }
    position_.epochs.push_back(metrics);
    position_.so_far = {};
    position_.step = 0;
    ++position_.epoch;
    note_ = fmt::format("epoch {}, loss={:.4f}, validation={:.4f}", metrics.epoch, metrics.training_loss,
                        metrics.validation_loss);
    const std::optional<Reading> reading = meter_.reading();
    if (reading) reading_ = reading_ ? sum(*reading_, *reading) : *reading;
    journal_.end_epoch(metrics, engine_.ranks(), reading);
  }

  // Afterwards metrics.csv and the checkpoint agree, so that a resumed run writes the same metrics.
  void save_checkpoint() {
    const StepTrace::Span span(held_.trace, "checkpoint");
    if (position_.step > 0) position_.so_far.cost = meter_.cost(0, 0);
    TrainingState all = state();
    std::optional<WholeState> optimizer;
    if (engine_.ranks() != nullptr) {
      optimizer.emplace(whole_state()).gather();
      if (options_.run.writes()) all.whole_state = optimizer->tensors();
    }
    if (options_.run.writes()) {
      checkpoints_.save(all, position_);
      write_metrics();
    }
    last_checkpoint_ = std::chrono::steady_clock::now();
  }

  void write_metrics() const { write_metrics_csv(options_.run.folder / "metrics.csv", position_.epochs); }

  [[noreturn]] void interrupt(const Interrupted& reason) {
    journal_.interrupted();
    throw Interrupted(
        fmt::format("{}interrupted in epoch {} after step {}; to continue, add --resume to the same command",
                    engine_.ranks() != nullptr ? reason.what() + std::string(": ") : "", position_.epoch,
                    position_.step));
  }

  const FitOptions& options_;
  const TrainingSection& training_;
  const ParameterList& parameters_;
  const Schedule schedule_{training_};
  TrainerState held_;
  Checkpoints checkpoints_;
  FitJournal journal_;
  const std::unique_ptr<DeviceRun> device_;  // Null on the CPU.
  const MemoryPlan plan_;
  BlockEngine engine_;
  EpochMeter meter_;
  ProgressEvents progress_;
  Position& position_ = held_.position;
  int64_t resumed_at_ = 0;
  std::vector<std::string> damaged_;
  std::string note_;
  std::chrono::steady_clock::time_point epoch_start_ = std::chrono::steady_clock::now();
  double seconds_before_ = 0;  // Seconds of this epoch in an earlier process.
  std::optional<Reading> reading_;
  std::chrono::steady_clock::time_point last_checkpoint_ = std::chrono::steady_clock::now();
};

}  // namespace

int64_t lanes_of(const TrainingSection& training, const ParameterList& parameters) {
  constexpr int64_t kFewParameters = 4'000'000;
  if (training.lanes != LaneCount::automatic)
    return parse_number<int64_t>(word_of(training.lanes)).value();  // The remaining words are numbers.
  return parameters.count() <= kFewParameters ? 4 : 1;
}

void require_ranks(int ranks, const MaxRanks& max) {
  if (ranks <= max.lanes && ranks <= max.blocks) return;
  if (max.lanes <= max.blocks)
    throw UsageError(
        fmt::format("found {} ranks, but training.lanes is {}, and each rank needs at least one lane; set "
                    "training.lanes to at "
                    "least {}, which changes the order of sums and therefore the weights, or pass --ranks {}",
                    ranks, max.lanes, std::bit_ceil(static_cast<uint64_t>(ranks)), max.lanes));
  throw UsageError(
      fmt::format("{} ranks, but a step has {} blocks: give --ranks {} or fewer, a larger "
                  "training.batch_size or a smaller "
                  "training.block",
                  ranks, max.blocks, max.blocks));
}

MemoryPlan plan_fit(const FitOptions& given) {
  const Precise precise(given);
  const FitOptions& options = precise.options();
  require_enough_work(options);
  if (options.run.without_data) return plan_with(options);
  const TrainerState held(options);
  const std::unique_ptr<DeviceRun> device = device_of(options);
  return plan_with(options, device.get());
}

FitResult fit(const FitOptions& given) {
  const Precise precise(given);
  const FitOptions& options = precise.options();
  require_enough_work(options);
  std::optional<InitialWeights> initial;
  // A checkpoint overwrites the weights that this loads.
  if (!options.recipe->init_from.empty())
    initial = init_from(options.recipe->init_from, options.objective->parameters(),
                        options.recipe->init_target_scale == TargetScaleSource::data);
  Fit run(options);
  options.run.observer->on_started();
  FitResult result = run.run();
  if (result.resumed_at == 0) result.initial = std::move(initial);
  return result;
}

}  // namespace plimsoll
