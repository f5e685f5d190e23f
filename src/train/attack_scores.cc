#include "train/attack_scores.h"

namespace plimsoll {

Vector<float, Tag::columns> attack_scores(BlockEngine& engine, std::span<const int64_t> graphs) {
  Vector<float, Tag::columns> scores(2 * graphs.size());
  engine.predict(graphs, scores);
  for (size_t g = 0; g < graphs.size(); ++g) scores[g] = scores[2 * g + 1] - scores[2 * g];
  scores.resize(graphs.size());
  return scores;
}

}  // namespace plimsoll
