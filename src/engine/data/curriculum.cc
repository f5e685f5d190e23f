#include "engine/data/curriculum.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace plimsoll {

Curriculum::Curriculum(CurriculumKind schedule, std::span<const int64_t> training,
                       std::span<const GraphShape> shapes, std::span<const float> difficulty, int64_t epochs)
    : moves_(schedule == CurriculumKind::kdgat),
      known_(!difficulty.empty()),
      epochs_(std::max<int64_t>(epochs, 1)) {
  for (const int64_t g : training)
    (shapes[static_cast<size_t>(g)].label == 0 ? hardest_ : attacks_).push_back(g);
  // Unknown difficulties are replaced by zeros, so that the order needs the same memory.
  const auto difficulty_of = [&](int64_t g) { return known_ ? difficulty[static_cast<size_t>(g)] : 0.0F; };
  std::ranges::sort(hardest_, [&](int64_t a, int64_t b) {
    return difficulty_of(a) != difficulty_of(b) ? difficulty_of(a) > difficulty_of(b) : a < b;
  });
  for (const int64_t g : hardest_) difficulty_.push_back(difficulty_of(g));
}

int64_t Curriculum::benign_of(int64_t epoch) const {
  const auto benign = static_cast<int64_t>(hardest_.size());
  const auto attacks = static_cast<double>(attacks_.size());
  if (!moves_) return std::min(benign, static_cast<int64_t>(4 * attacks));
  if (benign == 0) return 0;
  const double t = static_cast<double>(epoch - 1) / static_cast<double>(epochs_);
  // The percentile as NumPy interpolates it; difficulty_ descends.
  const double place = (75 + 20 * t) / 100 * static_cast<double>(benign - 1);
  const auto below = static_cast<int64_t>(place);
  const auto at = [&](int64_t rank) {
    return double{difficulty_[static_cast<size_t>(benign - 1 - std::min(rank, benign - 1))]};
  };
  const double level = std::lerp(at(below), at(below + 1), place - static_cast<double>(below));
  const auto hard = std::ranges::partition_point(difficulty_, [&](float d) { return d >= level; });
  return std::min<int64_t>(hard - difficulty_.begin(), static_cast<int64_t>(attacks * (1 + 9 * t)));
}

void Curriculum::graphs_of(int64_t epoch, GraphList& graphs) const {
  graphs.assign(attacks_.begin(), attacks_.end());
  graphs.insert(graphs.end(), hardest_.begin(), hardest_.begin() + benign_of(epoch));
  std::ranges::sort(graphs);
}

void graphs_of_epoch(std::span<const int64_t> training, const Curriculum* curriculum, int64_t epoch,
                     GraphList& graphs) {
  if (curriculum != nullptr)
    curriculum->graphs_of(epoch, graphs);
  else
    graphs.assign(training.begin(), training.end());
}

}  // namespace plimsoll
