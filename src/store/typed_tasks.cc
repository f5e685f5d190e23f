#include <fmt/format.h>

#include "store/typed_graph.h"
#include "store/typed_manifest.h"

namespace plimsoll {
namespace {

// Checks that the columns of a split's targets exist and have one row per seed.
void require_targets(const DataSetView& set, const ManifestPlace& split, int64_t seeds) {
  const auto target = object_of(set, split, "target");
  if (target) require_column(set, *target, seeds);
}

SeedsView read_split(const DataSetView& set, const ManifestPlace& split) {
  SeedsView seeds{.split = text_of(set, split, "name")};
  const int64_t rows = count_of(set, split, "seeds");
  count_of(set, split, "dangling");
  const std::string nodes = text_of(set, split, "nodes");
  require_rows(set, nodes, rows);
  seeds.nodes = set.column<uint32_t>(nodes);
  if (split.object.contains("times")) {
    const std::string times = text_of(set, split, "times");
    require_rows(set, times, rows);
    seeds.times = set.column<int64_t>(times);
  }
  require_targets(set, split, rows);
  return seeds;
}

}  // namespace

std::vector<TaskView> read_tasks(const DataSetView& set) {
  std::vector<TaskView> tasks;
  if (!set.manifest().contains("tasks")) return tasks;
  for (const ManifestPlace& task : objects_of(set, {set.manifest(), ""}, "tasks")) {
    TaskView view{.name = text_of(set, task, "name"),
                  .kind = text_of(set, task, "kind"),
                  .type = text_of(set, task, "type"),
                  .entity = text_of(set, task, "entity")};
    for (const ManifestPlace& split : objects_of(set, task, "splits")) {
      view.splits.push_back(read_split(set, split));
      const auto target = object_of(set, split, "target");
      if (!target || text_of(set, *target, "meaning") != "nodes") continue;
      text_of(set, task, "destination");
      text_of(set, *target, "ptr");
      static_cast<void>(set.column<uint32_t>(text_of(set, *target, "column")));
    }
    tasks.push_back(std::move(view));
  }
  return tasks;
}

}  // namespace plimsoll
