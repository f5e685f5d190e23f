#include "tasks/trees/tree_classes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/units.h"
#include "io/file.h"
#include "run/run_record.h"
#include "tasks/classes/classes_evaluation.h"
#include "tasks/classes/classification_evaluation.h"
#include "tasks/gnn/graph_lists.h"
#include "tasks/metrics/undefined_figures.h"
#include "tasks/trees/tree_baselines.h"
#include "tasks/trees/tree_evaluation.h"
#include "tasks/trees/tree_figures.h"
#include "telemetry/table.h"

namespace plimsoll {
namespace {

constexpr size_t kMaxDrawn = 12;

// The results of one model, by seed and then by list; a guess without training has a single entry instead of
// one per seed.
struct EvaluatedModel {
  std::string name;
  std::vector<int64_t> seeds;
  std::vector<std::vector<ClassificationResult>> results = {};  // By seed, then by list.
};

std::vector<NamedGraphList> with_classes(std::vector<NamedGraphList> lists,
                                         std::span<const GraphShape> shapes) {
  for (NamedGraphList& list : lists)
    std::erase_if(list.graphs, [&](int64_t g) { return shapes[static_cast<size_t>(g)].label < 0; });
  std::erase_if(lists, [](const NamedGraphList& list) { return list.graphs.empty(); });
  if (lists.empty()) throw InputError("none of the trees to evaluate has a class");
  return lists;
}

std::filesystem::path model_of_stage(const RunEvaluation& asked, int64_t seed, const char* stage) {
  return asked.folder.seed(seed) / stage / "model.safetensors";
}

// Returns the seeds with which a run was trained, counting up from that of its recipe.
std::vector<int64_t> trained_seeds(const RunEvaluation& asked) {
  std::vector<int64_t> seeds;
  for (int64_t seed = asked.recipe.seed;
       FileSystem::disk().exists(model_of_stage(asked, seed, RunFolder::kScratch)); ++seed)
    seeds.push_back(seed);
  if (seeds.empty())
    throw InputError(
        fmt::format("{}: not all stages of the run are done; continue with `plimsoll train --resume`",
                    asked.folder.root.string()));
  return seeds;
}

// Returns the class names of `plimsoll ingest swc --labels`, or numbers if there are none.
std::vector<std::string> class_names(const std::filesystem::path& data, int64_t classes) {
  std::vector<std::string> names;
  for (int64_t c = 0; c < classes; ++c) names.push_back(fmt::format("class {}", c));
  const Json manifest = parse_json(read_text(data / "manifest.json"));
  const Json::json_pointer place("/provenance/options/classes");
  if (!manifest.contains(place) || !manifest.at(place).is_array()) return names;
  const Json& given = manifest.at(place);
  for (size_t c = 0; c < std::min(names.size(), given.size()); ++c)
    if (given[c].is_string()) names[c] = given[c];
  return names;
}

// Returns a text such as "0.8125" or, for several seeds, their mean and standard deviation.
std::string over_seeds(const EvaluatedModel& model, size_t list,
                       const std::function<std::optional<double>(const ClassificationResult&)>& figure) {
  std::vector<double> values;
  for (const auto& of_seed : model.results)
    if (const auto value = figure(of_seed[list])) values.push_back(*value);
  if (values.empty()) return "-";
  const auto count = static_cast<double>(values.size());
  double mean = 0, square = 0;
  for (const double value : values) mean += value / count;
  for (const double value : values) square += (value - mean) * (value - mean) / count;
  return values.size() == 1 ? fmt::format("{:.4f}", mean)
                            : fmt::format("{:.4f} ± {:.4f}", mean, std::sqrt(square));
}

std::vector<std::string> row_of_model(const EvaluatedModel& model, size_t list) {
  const ClassificationResult& first = model.results.front()[list];
  return {first.name,
          model.name,
          model.seeds.empty() ? "-" : format_count(static_cast<int64_t>(model.seeds.size())),
          format_count(first.graphs),
          over_seeds(model, list, [](const auto& result) { return std::optional(result.loss); }),
          over_seeds(model, list, [](const auto& result) { return result.figures.accuracy; }),
          over_seeds(model, list, [](const auto& result) { return result.figures.f1; }),
          over_seeds(model, list, [](const auto& result) { return result.figures.auc; })};
}

// Returns the results of a guess on each list; the loss is computed from its logits.
EvaluatedModel guessed(const char* name, const std::vector<NamedGraphList>& lists,
                       std::span<const GraphShape> shapes, int64_t classes,
                       const std::function<TreeBaselines::Logits(const GraphList&)>& guess) {
  EvaluatedModel model{name, {}, {{}}};
  for (const NamedGraphList& list : lists) {
    Vector<int64_t, Tag::columns> labels;
    for (const int64_t g : list.graphs) labels.push_back(shapes[static_cast<size_t>(g)].label);
    const TreeBaselines::Logits logits = guess(list.graphs);
    model.results[0].push_back({list.name, static_cast<int64_t>(list.graphs.size()),
                                mean_cross_entropy(logits, labels, classes),
                                classification_figures(logits, labels, classes)});
  }
  return model;
}

// Adds results in the form of classification_json() to the models of each split.
void add_models(Json& splits, const Json& evaluated, const char* place) {
  for (size_t i = 0; i < splits.size(); ++i)
    for (const Json& split : evaluated.at("splits"))
      if (split.at("name") == splits[i].at("name"))
        for (const Json& model : split.at("models")) splits[i][place].push_back(model);
}

class TreeEvaluation {
 public:
  explicit TreeEvaluation(const RunEvaluation& asked)
      : asked_(asked),
        seeds_(trained_seeds(asked)),
        gnn_(asked.folder, asked.recipe, asked.data, kTreeClasses),
        shapes_(read_shapes(gnn_.data.source(), asked.memory.threads)),
        evaluated_(lists_to_evaluate(gnn_.data, shapes_, asked.recipe, gnn_.model, asked.split)),
        all_(evaluated_.lists),
        lists_(with_classes(all_, shapes_)) {}

  EvaluationResult findings() {
    evaluate();
    EvaluationResult found;
    Json splits = Json::array();
    for (const NamedGraphList& list : lists_) {
      const auto count = static_cast<int64_t>(list.graphs.size());
      splits.push_back({{"name", list.name}, {"graphs", count}, {"items", count}, {"models", Json::array()}});
      found.graphs += count;
    }
    for (const EvaluatedModel& model : models_)
      for (size_t s = 0; s < model.results.size(); ++s)
        add_models(
            splits,
            classification_json(model.results[s], model.name, model.seeds.empty() ? -1 : model.seeds[s]),
            "models");
    for (Json& split : splits)
      for (Json& model : split["models"])
        if (model["seed"] == -1) model.erase("seed");  // A guess has no seed.
    for (size_t s = 0; s < seeds_.size(); ++s)
      add_models(splits, trees_json(growth_[s], asked_.recipe.model_name(), seeds_[s]), "pretraining");
    found.json = {{"splits", std::move(splits)}};
    add_forests(found, gnn_.data);
    add_left_out(found, evaluated_);
    found.table = table(class_columns(), class_rows()) + "\n" + table(growth_columns(), growth_rows());
    if (asked_.split.empty()) found.report = report(found.notes);
    return found;
  }

 private:
  void evaluate() {
    // The plan of an evaluation counts only memory that is in use when it starts.
    if (!lists_.empty())
      drawn_.reserve(lists_[drawn_list()].graphs.size() * static_cast<size_t>(gnn_.model.model->classes()));
    EvaluatedModel tuned{.name = RunFolder::kFineTune, .seeds = seeds_, .results = {}};
    EvaluatedModel scratch{.name = RunFolder::kScratch, .seeds = seeds_, .results = {}};
    for (const int64_t seed : seeds_) {
      for (EvaluatedModel* const model : {&tuned, &scratch}) {
        const GnnModel trained = load_gnn(model_of_stage(asked_, seed, model->name.c_str()));
        const bool drawn = model == &tuned && seed == seeds_.front();
        const auto hear = [&](size_t list, std::span<const float> logits) {
          if (drawn && list == drawn_list()) drawn_.assign(logits.begin(), logits.end());
        };
        model->results.push_back(evaluate_classifier(input_for(trained, lists_), hear));
      }
      const GnnModel trained = load_gnn(model_of_stage(asked_, seed, RunFolder::kPretrain));
      growth_.push_back(evaluate_trees(input_for(trained, all_), asked_.recipe));
    }
    models_ = {std::move(tuned), std::move(scratch)};
    if (gnn_.model.trained_on == gnn_.data.identity_hash()) guess();
  }

  EvaluationInput input_for(const GnnModel& model, const std::vector<NamedGraphList>& lists) const {
    return {.source = gnn_.data.source(),
            .shapes = shapes_,
            .model = model,
            .limits = limits_of(asked_.recipe.training),
            .memory = asked_.memory,
            .exchange = asked_.exchange,
            .device = asked_.device,
            .rehearsal = asked_.rehearsal,
            .lists = lists};
  }

  void guess() {
    TrainingSplit split = split_for(asked_.recipe, gnn_.data, shapes_);
    std::erase_if(split.training, [&](int64_t g) { return shapes_[static_cast<size_t>(g)].label < 0; });
    const int64_t classes = gnn_.model.model->classes();
    const TreeBaselines baselines(gnn_.data.source(), shapes_, split.training, classes);
    models_.push_back(guessed("5 nearest in shape", lists_, shapes_, classes,
                              [&](const GraphList& graphs) { return baselines.nearest_in_shape(graphs); }));
    models_.push_back(guessed("most frequent class", lists_, shapes_, classes,
                              [&](const GraphList& graphs) { return baselines.most_frequent(graphs); }));
  }

  // Returns the index of the test trees, if there are any.
  size_t drawn_list() const {
    const auto test = std::ranges::find(lists_, "test", &NamedGraphList::name);
    return test == lists_.end() ? 0 : static_cast<size_t>(test - lists_.begin());
  }

  static std::vector<std::string> class_columns() {
    return {"<split", "<model", "seeds", "trees", "loss", "accuracy", "F1", "AUC"};
  }
  std::vector<std::vector<std::string>> class_rows() const {
    std::vector<std::vector<std::string>> rows;
    for (size_t list = 0; list < lists_.size(); ++list)
      for (const EvaluatedModel& model : models_) rows.push_back(row_of_model(model, list));
    return rows;
  }

  static std::vector<std::string> growth_columns() {
    return {"<split", "seed", "trees", "nodes", "growth", "parent edge", "order", "angle"};
  }
  std::vector<std::vector<std::string>> growth_rows() const {
    std::vector<std::vector<std::string>> rows;
    for (size_t list = 0; list < all_.size(); ++list)
      for (size_t s = 0; s < seeds_.size(); ++s) {
        const TreeResult& growth = growth_[s][list];
        rows.push_back({growth.name, std::to_string(seeds_[s]), format_count(growth.graphs),
                        format_count(growth.nodes), fmt::format("{:.4f}", growth.growth),
                        fmt::format("{:.4f}", growth.parent_edge), fmt::format("{:.4f}", growth.order),
                        figure_text(growth.angle)});
      }
    return rows;
  }

  static std::string table(std::vector<std::string> columns,
                           const std::vector<std::vector<std::string>>& rows) {
    Table table(std::move(columns));
    for (const auto& row : rows) table.add(row);
    return table.text();
  }

  static void add_table(Report& report, std::vector<std::string> columns,
                        const std::vector<std::vector<std::string>>& rows) {
    Report::Table table{std::move(columns), {}};
    for (const auto& row : rows) table.rows.push_back({row, Report::Table::Kind::plain});
    report.table(table);
  }

  Markup report(const std::string& notes) const {
    const RunRecord run = read_run_record(asked_.folder);
    Report report(run.name, "Classes of trees, evaluated by plimsoll evaluate");
    report.section("Results");
    add_table(report, class_columns(), class_rows());
    if (!notes.empty()) report.paragraph(notes);
    report.section("What was learned without labels");
    report.paragraph(
        "Growth is the earth mover's distance, in bins, between the histogram of distances to a node's "
        "children and the histogram that the pretrained model predicts. Parent edge is the same distance for "
        "the guess that children are as far away as the parent.");
    add_table(report, growth_columns(), growth_rows());
    const NamedGraphList& list = lists_[drawn_list()];
    report.section(fmt::format("Trees of {}, and the predictions of the fine-tuned model", list.name));
    report.figures(tree_figures(gnn_.data.source(), shapes_,
                                {list.graphs, drawn_, class_names(asked_.data, gnn_.model.model->classes())},
                                kMaxDrawn));
    add_run(report, run);
    return report.html();
  }

  const RunEvaluation& asked_;
  const std::vector<int64_t> seeds_;
  const TrainedGnn gnn_;  // The model of the first seed.
  const Vector<GraphShape, Tag::columns> shapes_;
  const EvaluatedGraphs evaluated_;
  const std::vector<NamedGraphList>& all_;
  const std::vector<NamedGraphList> lists_;  // Trees that have a class.
  std::vector<EvaluatedModel> models_;
  std::vector<std::vector<TreeResult>> growth_;  // Indexed by seed, then by list of all_.
  Vector<float, Tag::columns> drawn_;            // Logits of the trees that are drawn.
};

}  // namespace

void add_forests(EvaluationResult& findings, const TrainingData& data) {
  const ForestCounts counts = data.forests();
  if (counts.graphs == 0) return;
  findings.json["forests"] = {{"graphs", counts.graphs}, {"edges_left_out", counts.edges_left_out}};
  findings.notes = data.forests_in_words() + "\n";
}

EvaluationResult evaluate_tree_classes(const RunEvaluation& asked) {
  return TreeEvaluation(asked).findings();
}

}  // namespace plimsoll
