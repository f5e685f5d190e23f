#include "tasks/relational/label_shares.h"

#include <cmath>

namespace plimsoll {

LabelShares::LabelShares(const RelationalData& data)
    : seeds_(data.seeds().seeds()),
      labels_(static_cast<size_t>(seeds_.target_width())),
      all_(labels_),
      of_entity_(static_cast<size_t>(data.seeds().graph().node_type(seeds_.entity()).nodes) * labels_) {
  std::vector<float> targets(labels_);
  for (const int64_t seed : data.graphs_of(TaskSeeds::kTrain)) {
    seeds_.write_targets(seed, targets);
    Count* const own = &of_entity_[static_cast<size_t>(seeds_.node(seed)) * labels_];
    for (size_t label = 0; label < labels_; ++label) {
      if (std::isnan(targets[label])) continue;
      for (Count* const count : {&all_[label], &own[label]}) {
        ++count->known;
        if (targets[label] > 0) ++count->ones;
      }
    }
  }
}

Vector<float, Tag::columns> LabelShares::predict(const std::string& name, const GraphList& seeds) const {
  Vector<float, Tag::columns> found;
  found.reserve(seeds.size() * labels_);
  for (const int64_t seed : seeds) {
    const Count* const own = &of_entity_[static_cast<size_t>(seeds_.node(seed)) * labels_];
    for (size_t label = 0; label < labels_; ++label) {
      const Count& count = name == kHistory && own[label].known > 0 ? own[label] : all_[label];
      found.push_back(
          count.known == 0 ? 0 : static_cast<float>(count.ones) / static_cast<float>(count.known) - 0.5F);
    }
  }
  return found;
}

}  // namespace plimsoll
