#include "tasks/relational/relational_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/units.h"
#include "tasks/relational/relational_data.h"
#include "tasks/relational/relational_model.h"
#include "telemetry/counted.h"
#include "telemetry/progress.h"

namespace plimsoll {
namespace {

// Throws UsageError for settings that models of node types do not support.
void require_supported(const RunRequest& request) {
  const Recipe& recipe = request.recipe;
  if (request.is_on_device()) throw UsageError("task relational runs on the CPU; leave --device out");
  if (recipe.training.gradient_checkpointing == GradientCheckpointing::on)
    throw UsageError(
        "training.gradient_checkpointing: found on, but task relational cannot recompute layers; set "
        "off");
  if (recipe.model != ModelKind::gnn)
    throw UsageError("model: task relational always uses its own model; remove the key");
  const bool has_heads =
      recipe.relational.layer == RelationalLayer::gatv2 || recipe.relational.layer == RelationalLayer::hgt;
  if (has_heads && recipe.relational.channels % recipe.relational.heads != 0)
    throw UsageError(fmt::format(
        "relational.heads: found {}, expected a divisor of relational.channels, which is {}; set either",
        recipe.relational.heads, recipe.relational.channels));
  if (!recipe.data.without.empty())
    throw UsageError(
        "data.without: task relational does not support it; leave columns out with `plimsoll ingest tables "
        "--meaning TABLE.COLUMN=skip`");
}

// Returns the recipe of the stage. Layers are not recomputed, because that would not change the tape of a
// plan.
Recipe without_recomputation(Recipe recipe) {
  recipe.training.gradient_checkpointing = GradientCheckpointing::off;
  return recipe;
}

class RelationalTraining final : public Training {
 public:
  explicit RelationalTraining(RunRequest request)
      : request_((require_supported(request), std::move(request))),
        recipe_(without_recomputation(request_.recipe)),
        // Blocks are cut by the maximum over all samples. A short run makes all of them as well, because
        // --resume may add epochs.
        data_(request_.data, recipe_, recipe_.relational.samples),
        shapes_(shapes_of_data()),
        split_(data_.split()) {}

  const TrainingData& data() const override { return data_; }
  std::string model() const override { return "relational"; }

  // Each random seed of the run has its own initial weights and order of training seeds. All of them share
  // the samples, which are drawn with the recipe's seed.
  std::vector<Stage> stages(int64_t seed, const std::filesystem::path&) const override {
    Recipe recipe = recipe_;
    recipe.seed = seed;
    return {{"gnn", "gnn",
             [this, recipe](const RunOptions& run) {
               std::optional<MetaParameters> without_data;
               if (run.without_data) without_data.emplace();
               const auto model = make_model(recipe);
               return plan_fit(fit_options(recipe, *make_relational_objective(recipe, *model, seeds()), run));
             },
             [this, recipe](const RunOptions& run) { return train(recipe, run); }}};
  }

  std::string trained_on() const override {
    return fmt::format("{} seeds of {}, validated on {}", format_count(std::ssize(split_.training)),
                       recipe_.relational.task, format_count(std::ssize(split_.validation)));
  }

  // Returns the model of the recipe's own seed, not the best one: choosing the best of several seeds would
  // flatter the run.
  const TrainedStage* finish(const std::vector<TrainedStage>& stages, const RunFolder&,
                             const RunOptions&) override {
    return &stages.front();
  }

 private:
  // Shows how many seeds have been sampled.
  Vector<GraphShape, Tag::columns> shapes_of_data() const {
    if (!request_.writes()) return read_shapes(data_.source(), request_.memory.threads);
    Progress progress("sample", "seeds");
    data_.seeds().report_sampling([&](int64_t done, int64_t total) { progress.update(done, total); });
    auto shapes = read_shapes(data_.source(), request_.memory.threads);
    data_.seeds().report_sampling({});
    return shapes;
  }

  const TaskSeeds& seeds() const { return data_.seeds().seeds(); }

  std::unique_ptr<GraphModel> make_model(const Recipe& recipe) const {
    int64_t highest = 1;
    for (const GraphList* list : {&split_.training, &split_.validation})
      for (const int64_t seed : *list)
        highest = std::max<int64_t>(highest, shapes_[static_cast<size_t>(seed)].label);
    return make_relational_model(recipe, data_.seeds(), highest + 1);
  }

  FitOptions fit_options(const Recipe& recipe, const Objective& objective, const RunOptions& run) const {
    return {.source = &data_.source(),
            .shapes = {shapes_, data_.source().bounded()},
            .objective = &objective,
            .recipe = &recipe,
            .split = &split_,
            .run = run};
  }

  void note_left_out() const {
    for (const std::string& column : data_.seeds().left_out()) request_.observer->note("left out: " + column);
    for (const TaskSeeds::Split& split : data_.seeds().seeds().splits()) {
      const int64_t unknown = data_.unknown_labels(split.name);
      if (unknown > 0)
        request_.observer->note(
            fmt::format("left out: {} of the split {} with a label that no training seed has",
                        counted(unknown, "seed"), split.name));
      const int64_t unlabelled = split.count - std::ssize(data_.graphs_of(split.name)) - unknown;
      if (unlabelled > 0)
        request_.observer->note(fmt::format("left out: {} of the split {} without a label",
                                            counted(unlabelled, "seed"), split.name));
    }
  }

  StageReport train(const Recipe& recipe, const RunOptions& run) const {
    if (run.writes() && recipe.seed == recipe_.seed) note_left_out();
    const auto model = make_model(recipe);
    learn_target_units(data_.seeds(), split_.training, *model);
    const auto objective = make_relational_objective(recipe, *model, seeds());
    StageReport report;
    report.stage = "gnn";
    report.unit = "seeds";
    report.fit = fit(fit_options(recipe, *objective, run));
    report.weights = model->parameters().hash();
    report.parameters = model->parameters().count();
    report.graphs = std::ssize(split_.training) + std::ssize(split_.validation);
    if (run.writes())
      save_relational(run.folder / "model.safetensors", *model, seeds(), data_.identity_hash());
    return report;
  }

  const RunRequest request_;
  const Recipe recipe_;
  const RelationalData data_;
  const Vector<GraphShape, Tag::columns> shapes_;
  const TrainingSplit split_;
};

}  // namespace

std::unique_ptr<Training> open_relational_training(RunRequest request) {
  return std::make_unique<RelationalTraining>(std::move(request));
}

}  // namespace plimsoll
