#include "can/tasks/detection_labels.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace plimsoll {

int64_t count_attacks(std::span<const int64_t> graphs, std::span<const GraphShape> shapes) {
  return std::ranges::count_if(graphs, [&](int64_t g) { return shapes[static_cast<size_t>(g)].label == 1; });
}

GraphList benign_of(std::span<const int64_t> graphs, std::span<const GraphShape> shapes) {
  GraphList benign;
  std::ranges::copy_if(graphs, std::back_inserter(benign),
                       [&](int64_t g) { return shapes[static_cast<size_t>(g)].label == 0; });
  return benign;
}

void require_benign(std::span<const int64_t> validation, std::span<const GraphShape> shapes) {
  if (std::ranges::any_of(validation, [&](int64_t g) { return shapes[static_cast<size_t>(g)].label == 0; }))
    return;
  throw InputError(
      fmt::format("none of the {} validation windows is benign, and thresholds are set on benign ones; raise "
                  "split.validation or add attack-free recordings",
                  validation.size()));
}

void require_both_kinds(const TrainingSplit& split, std::span<const GraphShape> shapes) {
  for (size_t g = 0; g < shapes.size(); ++g)
    if (shapes[g].label != 0 && shapes[g].label != 1)
      throw InputError(fmt::format("graph {} has the label {}; a detector expects 0 (benign) or 1 (attack)",
                                   g, shapes[g].label));
  const int64_t attacks = count_attacks(split.training, shapes);
  const auto training = static_cast<int64_t>(split.training.size());
  if (attacks == 0 || attacks == training)
    throw InputError(
        fmt::format("{} of {} training windows hold an attack, and a classifier needs both kinds; add {} to "
                    "the training splits",
                    attacks, training, attacks == 0 ? "recordings of attacks" : "attack-free recordings"));
  require_benign(split.validation, shapes);
}

}  // namespace plimsoll
