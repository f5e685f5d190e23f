#include "engine/data/epoch_order.h"

namespace plimsoll {

void EpochOrder::graphs_of(int64_t epoch, GraphList& graphs) const {
  graphs_of_epoch(training, known() ? curriculum : nullptr, epoch, graphs);
  if (!fresh) {
    shuffle(graphs, seed, static_cast<uint32_t>(epoch));
    for (int64_t& graph : graphs) graph += resampling.offset(epoch);
    return;
  }
  const auto before = (epoch - 1) * static_cast<int64_t>(training.size());
  for (int64_t& graph : graphs) graph += before;
}

}  // namespace plimsoll
