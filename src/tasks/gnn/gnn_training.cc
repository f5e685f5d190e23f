#include "tasks/gnn/gnn_training.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/units.h"
#include "telemetry/progress.h"

namespace plimsoll {
namespace {

class GnnTraining final : public Training {
 public:
  GnnTraining(RunRequest request, const GnnTask& task)
      : request_(std::move(request)),
        head_(task.head),
        data_((require_kind(request_.data, request_.recipe, task.kinds), request_.data), request_.recipe,
              {.scratch = request_.scratch,
               .on_device = request_.is_on_device(),
               .negatives = negatives(request_.recipe, task),
               .targets = task.targets,
               .forests = task.forests}),
        shapes_(shapes_of_data()),
        split_(split_for(request_.recipe, data_, shapes_)),
        of_blocks_(block_recipe(request_.recipe, data_)),
        identity_(data_.identity_hash()) {}

  static std::optional<int64_t> negatives(const Recipe& recipe, const GnnTask& task) {
    return task.head == GnnHead::pairs ? std::optional(recipe.sampling.negatives) : std::nullopt;
  }

  // Shows how many blocks of a giant graph are sampled.
  Vector<GraphShape, Tag::columns> shapes_of_data() const {
    const NeighbourSource* const graph = data_.neighbours();
    if (graph == nullptr || !request_.writes()) return read_shapes(data_.source(), request_.memory.threads);
    Progress progress("sample", "blocks");
    graph->report_sampling([&](int64_t done, int64_t total) { progress.update(done, total); });
    auto shapes = read_shapes(data_.source(), request_.memory.threads);
    graph->report_sampling({});
    return shapes;
  }

  const TrainingData& data() const override { return data_; }
  std::string model() const override { return request_.recipe.model_name(); }

  std::vector<Stage> stages(int64_t, const std::filesystem::path&) const override {
    const auto options = [this](const RunOptions& run) {
      return GnnStageOptions{.source = &data_.source(),
                             .shapes = shapes_,
                             .recipe = &of_blocks_,
                             .head = head_,
                             .split = &split_,
                             .data = identity_,
                             .run = run};
    };
    return {{"gnn", "gnn", [options](const RunOptions& run) { return plan_gnn(options(run)); },
             [this, options](const RunOptions& run) { return report_of(train_gnn(options(run))); }}};
  }

  std::string trained_on() const override {
    if (data_.neighbours() == nullptr)
      return fmt::format("{} graphs, validated on {}, {} left for a test{}{}",
                         format_count(static_cast<int64_t>(split_.training.size())),
                         format_count(static_cast<int64_t>(split_.validation.size())),
                         format_count(static_cast<int64_t>(split_.test.size())),
                         data_.forests().graphs > 0 ? "; " : "", data_.forests_in_words());
    const std::vector<SeedList>& lists = data_.neighbours()->blocks().lists();
    return fmt::format("{} {} an epoch, in {} blocks, validated on {}", format_count(lists[0].size()), unit(),
                       format_count(static_cast<int64_t>(split_.training.size())),
                       format_count(lists[1].size()));
  }

  const TrainedStage* finish(const std::vector<TrainedStage>& stages, const RunFolder&,
                             const RunOptions&) override {
    return &stages.front();
  }

 private:
  const char* unit() const { return head_ == GnnHead::pairs ? "edges" : "seeds"; }

  StageReport report_of(const GnnStageResult& result) const {
    StageReport report;
    report.stage = "gnn";
    report.weights = result.weights_hash;
    report.parameters = result.trained.model->parameters().count();
    report.graphs = static_cast<int64_t>(split_.training.size() + split_.validation.size());
    report.fit = result.fit;
    if (data_.neighbours() != nullptr) {
      const std::vector<SeedList>& lists = data_.neighbours()->blocks().lists();
      report.graphs = lists[0].size() + lists[1].size();
      report.unit = unit();
    }
    return report;
  }

  const RunRequest request_;
  const GnnHead head_;
  const TrainingData data_;
  const Vector<GraphShape, Tag::columns> shapes_;
  const TrainingSplit split_;
  const Recipe of_blocks_;
  const std::string identity_;
};

const GnnModel& require_same_features(const GnnModel& model, const BlockSource& source) {
  const FeatureWidths reads = model.model->features();
  const int64_t edges = reads.edges.value_or(source.edge_features());
  if (reads.nodes != source.node_features() || edges != source.edge_features())
    throw InputError(
        fmt::format("the data has {} node and {} edge features, the model was trained on {} and {}",
                    source.node_features(), source.edge_features(), reads.nodes, edges));
  if (model.vocabulary != source.tables().vocabulary)
    throw InputError("the data set's vocabulary is not the model's: its IDs have other indices");
  return model;
}

}  // namespace

std::unique_ptr<Training> open_gnn_training(RunRequest request, const GnnTask& task) {
  return std::make_unique<GnnTraining>(std::move(request), task);
}

TrainedGnn::TrainedGnn(const std::filesystem::path& file, const Recipe& recipe,
                       const std::filesystem::path& set, const GnnTask& task)
    : model(load_gnn(file)),
      data((require_kind(set, recipe, task.kinds), set), recipe,
           {.seeds = false,
            .targets = task.targets,
            .forests = task.forests,
            .vocabulary = model.vocabulary}) {
  require_same_features(model, data.source());
}

void require_no_detector_options(const RunEvaluation& asked) {
  if (!asked.compare.empty() || !asked.scores.empty())
    throw UsageError("--compare and --scores are for detectors; this run's task is " +
                     std::string(word_of(asked.recipe.task)));
  if (!asked.attention.empty())
    throw UsageError("--attention is for detectors; this run's task is " +
                     std::string(word_of(asked.recipe.task)));
  if (asked.calibrate > 0 || asked.ablation)
    throw UsageError("--calibrate and --ablation are for detectors; this run's task is " +
                     std::string(word_of(asked.recipe.task)));
}

}  // namespace plimsoll
