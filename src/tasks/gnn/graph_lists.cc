#include "tasks/gnn/graph_lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/units.h"
#include "engine/data/trained_contents.h"
#include "store/split_name.h"

namespace plimsoll {
namespace {

// Returns a split's graphs, without those of recordings whose content was used for training.
GraphList graphs_of(const GraphRange& split, const GraphSetTables& tables,
                    const std::vector<std::string>& trained) {
  std::vector<GraphRange> copies;
  std::ranges::copy_if(tables.recordings, std::back_inserter(copies), [&](const GraphRange& recording) {
    return recording.split == split.name &&
           std::ranges::find(trained, content_of(recording)) != trained.end();
  });
  GraphList graphs;
  for (int64_t g = split.first_graph; g < split.first_graph + split.graphs; ++g)
    if (std::ranges::none_of(copies, [g](const GraphRange& copy) {
          return g >= copy.first_graph && g < copy.first_graph + copy.graphs;
        }))
      graphs.push_back(g);
  return graphs;
}

// Returns the split on which the model was trained; nullopt for other data, and for the same graphs if they
// are split in another way.
std::optional<TrainingSplit> split_that_trained(const TrainingData& data, std::span<const GraphShape> shapes,
                                                const Recipe& recipe, const GnnModel& model) {
  if (model.trained_on != data.identity_hash()) return std::nullopt;
  try {
    TrainingSplit split = split_for(recipe, data, shapes);
    if (model.contents.is_of(split)) return split;
  } catch (const InputError&) {
    // If the splits cannot be used for training, the model was not trained on them.
    if (model.contents.split.empty()) throw;
  }
  return std::nullopt;
}

// Removes the graphs that the model has seen from the lists.
void leave_out_seen(const BlockSource& source, const TrainedContents& seen, EvaluatedGraphs& evaluated) {
  if (seen.graphs.empty()) return;
  GraphBlock block;
  for (NamedGraphList& list : evaluated.lists)
    std::erase_if(list.graphs,
                  [&](int64_t graph) { return seen.has_graph(hash_of_graph(source, graph, block)); });
}

void report_left_out(const GraphSetTables& tables, EvaluatedGraphs& evaluated) {
  for (const NamedGraphList& list : evaluated.lists) {
    const auto split = std::ranges::find(tables.splits, list.name, &GraphRange::name);
    const int64_t left_out = split == tables.splits.end() ? 0 : split->graphs - std::ssize(list.graphs);
    if (left_out == 0) continue;
    evaluated.left_out[list.name] = left_out;
    evaluated.notes += fmt::format("{}: left out {} graphs that were used to train or validate the model\n",
                                   list.name, format_count(left_out));
  }
}

}  // namespace

EvaluatedGraphs lists_to_evaluate(const TrainingData& data, std::span<const GraphShape> shapes,
                                  const Recipe& recipe, const GnnModel& model, const std::string& only) {
  EvaluatedGraphs evaluated;
  std::vector<NamedGraphList>& lists = evaluated.lists;
  std::vector<std::string> trained = model.contents.recordings;
  std::optional<TrainingSplit> own = split_that_trained(data, shapes, recipe, model);
  const bool is_the_data = own.has_value();
  if (own) {
    trained = own->contents;
    lists.push_back({"validation", std::move(own->validation)});
    if (!own->test.empty()) lists.push_back({"test", std::move(own->test)});
    for (auto& [attack, graphs] : own->left_out) lists.push_back({left_out_name(attack), std::move(graphs)});
  }
  const GraphSetTables& tables = data.source().tables();
  // If no split is for training, the graphs of all splits were divided for the run.
  const bool some_train =
      std::ranges::any_of(tables.splits, [](const auto& s) { return is_training_split(s.name); });
  for (const GraphRange& split : tables.splits) {
    if (is_the_data && (!some_train || is_training_split(split.name))) continue;
    lists.push_back({split.name, graphs_of(split, tables, trained)});
  }
  std::string known;
  for (const NamedGraphList& list : lists) known += " " + list.name;
  if (!only.empty()) std::erase_if(lists, [&](const NamedGraphList& list) { return list.name != only; });
  if (lists.empty() && !only.empty())
    throw UsageError(fmt::format("--split: found '{}', expected one of:{}", only, known));
  if (is_the_data) return evaluated;
  if (model.contents.empty())
    evaluated.notes =
        "the model file does not record the graphs on which it was trained; if this data contains any of "
        "them, they are evaluated, too\n";
  leave_out_seen(data.source(), model.contents, evaluated);
  report_left_out(tables, evaluated);
  std::erase_if(lists, [](const NamedGraphList& list) { return list.graphs.empty(); });
  if (lists.empty() && !evaluated.left_out.empty())
    throw InputError("nothing to evaluate: all graphs of this data were used to train or validate the model");
  return evaluated;
}

void add_left_out(EvaluationResult& findings, const EvaluatedGraphs& evaluated) {
  findings.notes += evaluated.notes;
  if (!evaluated.left_out.empty()) findings.json["left_out"] = evaluated.left_out;
}

}  // namespace plimsoll
