#include "train/split.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/error.h"
#include "store/split_name.h"

namespace plimsoll {
namespace {

void require_both_sides(const TrainingSplit& split, const std::string& no_training,
                        const std::string& no_validation) {
  if (split.training.empty()) throw InputError("no graph to train on: " + no_training);
  if (split.validation.empty()) throw InputError("no graph to validate on: " + no_validation);
}

// Graphs of the splits that train; all where no split is named so.
GraphList training_graphs(const GraphSetTables& tables, size_t count) {
  GraphList graphs;
  for (const GraphRange& split : tables.splits)
    if (is_training_split(split.name))
      for (int64_t g = 0; g < split.graphs; ++g) graphs.push_back(split.first_graph + g);
  if (!graphs.empty()) return graphs;
  graphs.resize(count);
  std::iota(graphs.begin(), graphs.end(), int64_t{0});
  return graphs;
}

}  // namespace

std::string content_of(const GraphRange& recording) {
  return recording.content.empty() ? recording.copy_of.value_or(recording.split + "/" + recording.name)
                                   : recording.content;
}

TrainingSplit split_by_time(const GraphSetTables& tables, double validation, int64_t embargo) {
  TrainingSplit result;
  std::set<std::string> seen;
  for (const GraphRange& recording : tables.recordings) {
    if (!is_training_split(recording.split)) continue;
    const std::string path = recording.split + "/" + recording.name;
    if (!seen.insert(content_of(recording)).second) {
      result.copies.push_back(path);
      continue;
    }
    result.used.push_back(path);
    result.contents.push_back(content_of(recording));
    const auto held_out = static_cast<int64_t>(validation * static_cast<double>(recording.graphs));
    const int64_t trained =
        held_out == 0 ? recording.graphs : std::max<int64_t>(recording.graphs - held_out - embargo, 0);
    for (int64_t g = 0; g < trained; ++g) result.training.push_back(recording.first_graph + g);
    for (int64_t g = recording.graphs - held_out; g < recording.graphs; ++g)
      result.validation.push_back(recording.first_graph + g);
  }
  require_both_sides(result, "no split's name begins with 'train', or its recordings are too short",
                     "the training recordings are too short for split.validation");
  return result;
}

TrainingSplit split_by_graph(const GraphSetTables& tables, std::span<const GraphShape> shapes,
                             double validation, double test, uint64_t seed) {
  if (shapes.empty()) throw InputError("the data set has no graphs");
  GraphList graphs = training_graphs(tables, shapes.size());
  shuffle(graphs, seed, /*epoch=*/0);
  std::map<int32_t, GraphList> by_label;
  for (const int64_t g : graphs) by_label[shapes[static_cast<size_t>(g)].label].push_back(g);
  TrainingSplit result;
  for (const auto& [label, drawn] : by_label) {
    const auto share = [count = drawn.size()](double part) {
      return static_cast<size_t>(part * static_cast<double>(count) + 0.5);
    };
    const size_t tested = share(test);
    const size_t validated = share(test + validation);
    for (size_t i = 0; i < drawn.size(); ++i)
      (i < tested ? result.test : i < validated ? result.validation : result.training).push_back(drawn[i]);
  }
  for (GraphList* list : {&result.training, &result.validation, &result.test})
    std::sort(list->begin(), list->end());
  require_both_sides(result, "split.validation and split.test take all",
                     "there are too few for split.validation");
  return result;
}

}  // namespace plimsoll
