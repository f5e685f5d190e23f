#include "kernels/path_message/path_tiles.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

namespace plimsoll {
namespace {

using Path = std::array<int32_t, 4>;
using Rows = std::vector<std::vector<int32_t>>;

// Edges by source. The edges of a node are in the order of targets.
struct Edges {
  std::vector<int64_t> row_begin{0};
  std::vector<int32_t> target;

  explicit Edges(const Rows& rows) {
    for (const auto& row : rows) {
      target.insert(target.end(), row.begin(), row.end());
      row_begin.push_back(static_cast<int64_t>(target.size()));
    }
  }
  PathGraph graph(bool self_paths) const {
    return {static_cast<int64_t>(row_begin.size()) - 1, row_begin.data(), target.data(), self_paths};
  }
  std::vector<Path> paths(bool self_paths) const {
    std::vector<Path> all;
    const auto out = [&](int32_t n) {
      return std::vector<int32_t>(target.begin() + row_begin[static_cast<size_t>(n)],
                                  target.begin() + row_begin[static_cast<size_t>(n) + 1]);
    };
    for (int32_t i = 0; i + 1 < static_cast<int32_t>(row_begin.size()); ++i) {
      if (self_paths) all.push_back({i, i, i, i});
      for (const int32_t j : out(i))
        for (const int32_t k : out(j))
          for (const int32_t p : out(k))
            if (k != i && p != i && p != j) all.push_back({i, j, k, p});
    }
    return all;
  }
};

Edges random_edges(int32_t nodes, double chance, uint32_t seed) {
  std::mt19937 random(seed);
  Rows rows(static_cast<size_t>(nodes));
  for (int32_t i = 0; i < nodes; ++i)
    for (int32_t j = 0; j < nodes; ++j)
      if (i != j && std::bernoulli_distribution(chance)(random)) rows[static_cast<size_t>(i)].push_back(j);
  return Edges(rows);
}

// A walk whose tiles have this many paths and slots, and the paths it finds.
struct Walked {
  std::vector<Path> paths;
  int64_t tiles = 0;

  Walked(const PathGraph& graph, int64_t capacity, int64_t slot_count, int64_t window) {
    std::array<std::vector<int32_t>, 7> arrays;
    for (auto& array : arrays) array.resize(static_cast<size_t>(capacity));
    PathTile tile{capacity,
                  0,
                  0,
                  0,
                  arrays[0].data(),
                  arrays[1].data(),
                  arrays[2].data(),
                  arrays[3].data(),
                  arrays[4].data(),
                  arrays[5].data(),
                  arrays[6].data()};
    std::vector<int32_t> node(static_cast<size_t>(slot_count));
    std::vector<int32_t> slot_of(static_cast<size_t>(graph.nodes), -1);
    NodeSlots slots{slot_count, 0, node.data(), slot_of.data()};
    PathWalk walk(graph);
    for (int64_t first = 0; first < graph.nodes; first += window)
      for (;;) {
        if (!walk.fill(first, window, tile, slots)) {
          slots.clear();
          EXPECT_TRUE(walk.fill(first, window, tile, slots));
        }
        if (tile.paths == 0) break;
        read(tile, slots, first);
      }
  }

  void read(const PathTile& tile, const NodeSlots& slots, int64_t first) {
    ++tiles;
    EXPECT_LE(tile.edges, tile.triples);
    EXPECT_LE(tile.triples, tile.paths);
    for (int64_t p = 0; p < tile.paths; ++p) {
      const int32_t triple = tile.path_triple[p];
      const int32_t edge = tile.triple_edge[triple];
      const int32_t source = slots.node[tile.edge_source[edge]];
      EXPECT_EQ(tile.path_source[p], source - first);
      if (p > 0) {
        EXPECT_LE(triple - tile.path_triple[p - 1], 1);
      }
      paths.push_back({source, slots.node[tile.edge_target[edge]], slots.node[tile.triple_node[triple]],
                       slots.node[tile.path_node[p]]});
    }
  }
};

TEST(PathTiles, HaveEveryPathOnceInOrder) {
  const std::vector<Edges> all = {Edges(Rows{}),
                                  Edges(Rows(1)),
                                  Edges(Rows{{1}, {2}, {3}, {}}),
                                  Edges(Rows{{1, 1, 2}, {0, 2}, {0, 1, 3}, {2}}),
                                  random_edges(12, 0.3, 1),
                                  random_edges(40, 0.1, 2),
                                  random_edges(9, 1, 3)};
  for (const Edges& edges : all)
    for (const bool self_paths : {false, true})
      for (const int64_t capacity : {1, 16, 1000})
        for (const int64_t slots : {4, 7, 64})
          for (const int64_t window : {1, 5, 100}) {
            const Walked walked(edges.graph(self_paths), capacity, slots, window);
            EXPECT_EQ(walked.paths, edges.paths(self_paths));
          }
}

TEST(PathTiles, AreFullWhereThereIsRoom) {
  const Edges edges = random_edges(40, 0.1, 2);
  const int64_t paths = static_cast<int64_t>(edges.paths(false).size());
  EXPECT_EQ(Walked(edges.graph(false), 64, 64, 100).tiles, (paths + 63) / 64);
}

TEST(PathTiles, PathsAreCountedWithoutThem) {
  for (const Edges& edges : {Edges(Rows{{1, 1, 2}, {0, 2}, {0, 1, 3}, {2}}), random_edges(40, 0.1, 2)}) {
    const PathGraph graph = edges.graph(false);
    std::vector<int64_t> counts(static_cast<size_t>(graph.nodes));
    for (const Path& path : edges.paths(false)) ++counts[static_cast<size_t>(path[0])];
    for (int64_t n = 0; n < graph.nodes; ++n)
      EXPECT_EQ(count_paths(graph, n), counts[static_cast<size_t>(n)]);
  }
}

}  // namespace
}  // namespace plimsoll
