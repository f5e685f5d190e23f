#include "task/graph_lists.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "store/split_name.h"

namespace plimsoll {
namespace {

// A split's graphs, without those of recordings whose content trained.
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

}  // namespace

std::vector<NamedGraphList> lists_to_judge(const TrainingData& data, std::span<const GraphShape> shapes,
                                           const Recipe& recipe, const GnnModel& model,
                                           const std::string& only) {
  std::vector<NamedGraphList> lists;
  std::vector<std::string> trained;
  const bool is_the_data = model.trained_on == data.identity_hash();
  if (is_the_data) {
    TrainingSplit split = split_for(recipe, data, shapes);
    trained = split.contents;
    lists.push_back({"validation", std::move(split.validation)});
    if (!split.test.empty()) lists.push_back({"test", std::move(split.test)});
    for (auto& [attack, graphs] : split.left_out) lists.push_back({left_out_name(attack), std::move(graphs)});
  }
  const auto& splits = data.source().tables().splits;
  // Where no split is named so, all graphs were shared out.
  const bool some_train =
      std::ranges::any_of(splits, [](const auto& s) { return is_training_split(s.name); });
  for (const GraphRange& split : splits) {
    if (is_the_data && (!some_train || is_training_split(split.name))) continue;
    lists.push_back({split.name, graphs_of(split, data.source().tables(), trained)});
  }
  std::string known;
  for (const NamedGraphList& list : lists) known += " " + list.name;
  if (!only.empty()) std::erase_if(lists, [&](const NamedGraphList& list) { return list.name != only; });
  if (lists.empty() && !only.empty())
    throw UsageError(fmt::format("no split '{}' to judge; there are:{}", only, known));
  return lists;
}

}  // namespace plimsoll
