#include "can/tasks/evaluated_lists.h"

#include <fmt/format.h>

#include <set>

#include "base/error.h"
#include "store/split_name.h"

namespace plimsoll {

std::vector<EvaluatedList> lists_to_evaluate(const GraphSetTables& tables,
                                             const std::vector<std::string>& trained_on,
                                             const std::optional<TrainingSplit>& split,
                                             const std::string& only) {
  std::vector<EvaluatedList> lists;
  if (split) {
    lists.push_back({"validation", split->validation, {}});
    for (const auto& [attack, graphs] : split->left_out) lists.push_back({left_out_name(attack), graphs, {}});
  }
  const std::set<std::string> trained(trained_on.begin(), trained_on.end());
  for (const GraphRange& recording : tables.recordings) {
    if (is_training_split(recording.split) && (split || recording.split != only)) continue;
    if (lists.empty() || lists.back().name != recording.split) lists.push_back({recording.split, {}, {}});
    if (trained.contains(content_of(recording))) {
      lists.back().left_out.push_back(recording.name);
      continue;
    }
    for (int64_t g = 0; g < recording.graphs; ++g) lists.back().graphs.push_back(recording.first_graph + g);
  }
  if (lists.empty())
    throw InputError(
        "nothing to evaluate: the data set has no split other than training splits; name one of them with "
        "--split");
  std::string known;
  for (const EvaluatedList& list : lists) known += " " + list.name;
  std::erase_if(lists, [&](const EvaluatedList& list) { return !only.empty() && only != list.name; });
  if (lists.empty()) throw UsageError(fmt::format("no split '{}' to evaluate; there are:{}", only, known));
  return lists;
}

}  // namespace plimsoll
