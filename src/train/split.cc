#include "train/split.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "store/split_name.h"

namespace plimsoll {

std::string content_of(const GraphRange& recording) {
  return recording.content.empty() ? recording.copy_of.value_or(recording.split + "/" + recording.name)
                                   : recording.content;
}

TrainingSplit split_training(const GraphSetTables& tables, double validation, int64_t embargo) {
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
  if (result.training.empty())
    throw InputError(
        "no graph to train on: no split's name begins with 'train', or its recordings are too short");
  if (result.validation.empty())
    throw InputError("no graph to validate on: the training recordings are too short for split.validation");
  return result;
}

}  // namespace plimsoll
