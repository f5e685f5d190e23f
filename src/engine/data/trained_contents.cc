#include "engine/data/trained_contents.h"

#include <algorithm>
#include <bit>
#include <charconv>

#include "base/hash.h"
#include "base/interrupt.h"
#include "memory/c_heap.h"

namespace plimsoll {

int64_t hash_of_graph(const BlockSource& source, int64_t graph, GraphBlock& block) {
  source.read(std::span(&graph, 1), block);
  Hasher hasher;
  const auto add = [&](const auto& values) {
    const auto count = static_cast<int64_t>(values.size());
    hasher.add(&count, sizeof count);
    hasher.add(values.data(), std::span(values).size_bytes());
  };
  add(block.x);
  add(block.edges);
  add(block.edge_attr);
  add(block.pos);
  const std::string hex = hasher.hex64();
  uint64_t value = 0;
  std::from_chars(hex.data(), hex.data() + hex.size(), value, 16);
  return std::bit_cast<int64_t>(value);
}

TrainedContents TrainedContents::of(const BlockSource& source, const TrainingSplit& split) {
  TrainedContents contents{.recordings = split.contents, .split = hash_of_split(split)};
  if (!split.contents.empty()) return contents;
  contents.graphs.reserve(split.training.size() + split.validation.size());
  {
    GraphBlock block;
    for (const GraphList* const list : {&split.training, &split.validation})
      for (const int64_t graph : *list) {
        throw_if_interrupted("the graphs of the training split were hashed");
        contents.graphs.push_back(hash_of_graph(source, graph, block));
      }
  }
  give_back_freed_memory();
  std::ranges::sort(contents.graphs);
  return contents;
}

bool TrainedContents::has_graph(int64_t hash) const {
  return std::ranges::binary_search(graphs, hash);
}

}  // namespace plimsoll
