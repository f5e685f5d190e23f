#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "kernels/host_warp.h"
#include "kernels/path_message/path_message_steps.h"

namespace plimsoll {
namespace {

struct MadeGraph {
  std::vector<int64_t> row_begin = {0};
  std::vector<int32_t> target;

  // Random edges, some of them parallel. Numbers after the last edge are not set.
  MadeGraph(int32_t nodes, int32_t max, uint32_t seed) {
    std::mt19937 random(seed);
    for (int32_t n = 0; n < nodes; ++n) {
      const auto count = static_cast<int32_t>(random() % static_cast<uint32_t>(max + 1));
      std::vector<int32_t> row;
      for (int32_t e = 0; e < count; ++e)
        if (const auto to = static_cast<int32_t>(random() % static_cast<uint32_t>(nodes)); to != n)
          row.push_back(to);
      std::ranges::sort(row);
      target.insert(target.end(), row.begin(), row.end());
      row_begin.push_back(static_cast<int64_t>(target.size()));
    }
    target.insert(target.end(), {-7, -7, -7});
  }
  PathGraph view(bool self) const {
    return {static_cast<int64_t>(row_begin.size()) - 1, row_begin.data(), target.data(), self};
  }
};

using Nodes = std::array<int32_t, 4>;

// Enumerates paths by four loops.
std::vector<Nodes> all_paths(const PathGraph& graph) {
  std::vector<Nodes> paths;
  const auto each = [&](int32_t from, auto visit) {
    for (int64_t e = graph.row_begin[from]; e < graph.row_begin[from + 1]; ++e) visit(graph.target[e]);
  };
  for (int32_t i = 0; i < graph.nodes; ++i) {
    if (graph.self_paths) paths.push_back({i, i, i, i});
    each(i, [&](int32_t j) {
      each(j, [&](int32_t k) {
        if (k == i) return;
        each(k, [&](int32_t p) {
          if (p != i && p != j) paths.push_back({i, j, k, p});
        });
      });
    });
  }
  return paths;
}

TEST(PathsOnDevice, AreFoundByTheirNumbers) {
  for (const bool backwards : {false, true})
    for (const bool self : {false, true})
      for (const int32_t max : {0, 2, 9}) {
        const MadeGraph made(14, max, static_cast<uint32_t>(max) + 3);
        const PathGraph graph = made.view(self);
        const std::vector<Nodes> expected = all_paths(graph);
        const auto edges = static_cast<int64_t>(made.target.size());
        std::vector<int64_t> before(made.target.size() + 1, 0);
        HostLaunch{backwards}(edges, CountEdgePaths{graph, before.data() + 1});
        for (size_t e = 1; e < before.size(); ++e) before[e] += before[e - 1];
        ASSERT_EQ(before.back() + (self ? graph.nodes : 0), static_cast<int64_t>(expected.size()));
        const auto paths = static_cast<int64_t>(expected.size());
        for (const int64_t first : {int64_t{0}, paths / 3}) {
          const int64_t rows = std::min<int64_t>(paths - first, 200);
          std::array<std::vector<int32_t>, 4> node;
          std::array<std::vector<double>, 3> gaussians;
          const std::vector<double> pos(static_cast<size_t>(3 * graph.nodes), 0.5);
          const std::vector<double> basis(2, 1.0);
          FoundPaths<double> found{.numbers = {graph, before.data()},
                                   .first = first,
                                   .rows = rows,
                                   .pos = pos.data(),
                                   .basis = {2, 0, 0, basis.data(), basis.data()}};
          for (size_t n = 0; n < 4; ++n) {
            node[n].resize(static_cast<size_t>(rows) + 1);
            found.node[n] = node[n].data();
          }
          for (size_t level = 0; level < 3; ++level) {
            gaussians[level].resize(static_cast<size_t>(2 * rows) + 1);
            found.gaussians[level] = gaussians[level].data();
          }
          HostLaunch{backwards}(rows, FindPaths<double>{found});
          for (int64_t r = 0; r < rows; ++r)
            for (size_t n = 0; n < 4; ++n)
              ASSERT_EQ(node[n][static_cast<size_t>(r)], expected[static_cast<size_t>(first + r)][n])
                  << "path " << first + r;
        }
      }
}

TEST(PathsOnDevice, EqualRowsAreAddedUpInTheirOrder) {
  const std::vector<float> in = {1e8F, 1, -1e8F,
                                 1,    5, 7};  // Rows of one number; their sum depends on the order.
  const std::vector<int32_t> at = {2, 2, 2, 2, 4, 5};
  const std::vector<int64_t> order = {0, 2, 1, 3, 4, 5};
  for (const bool ordered : {false, true}) {
    std::vector<float> out(6, 0.0F);
    ScatterRows<float> step{
        {.in = in.data(), .rows = 6, .width = 1, .at = at.data(), .out = out.data(), .step = 1}};
    if (ordered) step.rows.order = order.data();
    HostLaunch{true}(6 * step.blocks(), step);
    EXPECT_EQ(out, (std::vector<float>{0, 0, ordered ? 2.0F : 1.0F, 0, 5, 7}));
  }
}

}  // namespace
}  // namespace plimsoll
