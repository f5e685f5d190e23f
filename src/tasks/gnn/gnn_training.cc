#include "tasks/gnn/gnn_training.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/units.h"
#include "telemetry/progress.h"

namespace plimsoll {
namespace {

std::vector<std::string> kinds_of(const GnnTask& task) {
  std::vector<std::string> kinds = task.kinds;
  if (task.opened_kinds)
    for (std::string& kind : opened_kinds()) kinds.push_back(std::move(kind));
  return kinds;
}

class GnnTraining final : public Training {
 public:
  GnnTraining(RunRequest request, const GnnTask& task)
      : request_(std::move(request)),
        head_(task.head),
        objective_(task.objective),
        data_((require_kind(request_.data, request_.recipe, kinds_of(task)), request_.data), request_.recipe,
              {.scratch = request_.scratch,
               .on_device = request_.is_on_device(),
               .negatives = negatives(request_.recipe, task),
               .targets = task.targets,
               .labels = task.labels(),
               .forests = task.forests}),
        shapes_(shapes_of_data()),
        split_(split_for(request_.recipe, data_, shapes_)),
        of_blocks_(block_recipe(request_.recipe, data_)),
        identity_(data_.identity_hash()) {}

  static std::optional<int64_t> negatives(const Recipe& recipe, const GnnTask& task) {
    return task.head == GnnHead::pairs ? std::optional(recipe.sampling.negatives) : std::nullopt;
  }

  // Shows how many blocks of a giant graph have been sampled.
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
                             .shapes = {shapes_, data_.source().bounded()},
                             .recipe = &of_blocks_,
                             .head = head_,
                             .objective = objective_,
                             .split = &split_,
                             .data = identity_,
                             .class_names = class_names(),
                             .giant = data_.neighbours(),
                             .run = run};
    };
    return {{"gnn", "gnn", [options](const RunOptions& run) { return plan_gnn(options(run)); },
             [this, options](const RunOptions& run) {
               note_scales();
               note_embedding();
               return report_of(train_gnn(options(run)));
             }}};
  }

  std::string trained_on() const override {
    if (data_.neighbours() == nullptr)
      return fmt::format("{} graphs, validated on {}, {} left for a test{}{}",
                         format_count(static_cast<int64_t>(split_.training.size())),
                         format_count(static_cast<int64_t>(split_.validation.size())),
                         format_count(static_cast<int64_t>(split_.test.size())),
                         data_.forests().graphs > 0 ? "; " : "", data_.forests_in_words());
    const std::vector<SeedList>& lists = data_.neighbours()->blocks().lists();
    return fmt::format("{} {} per epoch, in {} blocks, validated on {}", format_count(lists[0].size()),
                       unit(), format_count(static_cast<int64_t>(split_.training.size())),
                       format_count(lists[1].size()));
  }

  const TrainedStage* finish(const std::vector<TrainedStage>& stages, const RunFolder&,
                             const RunOptions&) override {
    return &stages.front();
  }

 private:
  std::vector<std::string> class_names() const {
    return data_.neighbours() == nullptr ? std::vector<std::string>()
                                         : data_.neighbours()->graph().tables().class_names;
  }

  // Reports features whose scales differ too much for a model to learn from all of them, based on a sample of
  // the graphs or nodes.
  void note_scales() const {
    const BlockSource& source = data_.source();
    if (request_.recipe.features.standardize || !request_.writes() || source.widths().node_numbers > 0)
      return;
    const size_t first = source.tables().vocabulary.empty() ? 0 : 1;
    const std::string note = unequal_scales(scale_of_some(source, data_.neighbours(), split_), first,
                                            source.tables().node_features);
    if (!note.empty()) request_.observer->note(note);
  }

  // Reports a width of embeddings that has no effect.
  void note_embedding() const {
    const BlockSource& source = data_.source();
    const bool has_effect = source.widths().node_numbers > 0 || !source.tables().vocabulary.empty();
    if (has_effect || !request_.writes() || request_.recipe.gnn.embedding == GnnOptions().embedding) return;
    request_.observer->note(
        "gnn.embedding has no effect: the nodes have features and no IDs, so no embeddings of them are "
        "learned");
  }

  const char* unit() const { return head_ == GnnHead::pairs ? "edges" : "seeds"; }

  StageReport report_of(const GnnStageResult& result) const {
    StageReport report;
    report.stage = "gnn";
    report.weights = result.fit.weights;
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
  const MakeObjective objective_;
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
    throw InputError(fmt::format(
        "the data has {} node features and {} edge features, but the model was trained on {} and {}",
        source.node_features(), source.edge_features(), reads.nodes, edges));
  const int64_t nodes = source.widths().node_numbers;
  const auto* const gnn = dynamic_cast<const Gnn*>(model.model.get());
  const int64_t learned = gnn != nullptr && model.vocabulary.empty() ? gnn->options().num_ids : 0;
  if (learned != nodes)
    throw InputError(fmt::format(
        "the model learned embeddings of {} nodes, but the data has {} nodes without features; use the "
        "nodes on which it was trained",
        learned, nodes));
  if (model.vocabulary != source.tables().vocabulary)
    throw InputError("the data set's vocabulary is not the model's: its IDs have other indices");
  return model;
}

FeatureOrder order_for(const ModelNames& names, const GraphSetTables& tables) {
  return {ColumnOrder(names.node_features, tables.node_features, "node features"),
          ColumnOrder(names.edge_features, tables.edge_features, "edge features")};
}

}  // namespace

std::unique_ptr<Training> open_gnn_training(RunRequest request, const GnnTask& task) {
  return std::make_unique<GnnTraining>(std::move(request), task);
}

TrainedGnn::TrainedGnn(const std::filesystem::path& file, const Recipe& recipe,
                       const std::filesystem::path& set, const GnnTask& task)
    : model(load_gnn(file)),
      data((require_kind(set, recipe, kinds_of(task)), set), recipe,
           {.seeds = false,
            .targets = task.targets,
            .labels = task.labels(),
            .forests = task.forests,
            .vocabulary = model.vocabulary}) {
  require_same_features(model, data.source());
  order = order_for(model.names, data.source().tables());
  data.order_features(order);
}

void require_no_task_options(const RunEvaluation& asked) {
  if (asked.of_task != nullptr) asked.of_task->refuse(asked.recipe.task);
}

}  // namespace plimsoll
