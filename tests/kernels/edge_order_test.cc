#include "kernels/edge_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "support/errors.h"

namespace plimsoll {
namespace {

struct Graph {
  int64_t sources = 0;
  int64_t targets = 0;
  std::vector<int64_t> source;
  std::vector<int64_t> target;

  int64_t edges() const { return static_cast<int64_t>(source.size()); }
  void add(int64_t from, int64_t to) {
    source.push_back(from);
    target.push_back(to);
  }
};

// Edges between random nodes, with duplicates and self-loops.
Graph random_graph(uint64_t seed, int64_t sources, int64_t targets, int64_t edges) {
  std::mt19937_64 draw(seed);
  Graph graph{sources, targets, {}, {}};
  for (int64_t e = 0; e < edges; ++e)
    graph.add(static_cast<int64_t>(draw() % static_cast<uint64_t>(sources)),
              static_cast<int64_t>(draw() % static_cast<uint64_t>(targets)));
  return graph;
}

// Paths with these numbers of nodes, one after the other, each edge in both directions.
Graph paths(const std::vector<int64_t>& nodes) {
  Graph graph;
  for (const int64_t size : nodes) {
    for (int64_t i = 1; i < size; ++i) {
      graph.add(graph.sources + i, graph.sources + i - 1);
      graph.add(graph.sources + i - 1, graph.sources + i);
    }
    graph.sources += size;
  }
  graph.targets = graph.sources;
  return graph;
}

constexpr int32_t kGuard = -77;

// Returns the numbers of an order. Checks that the memory after them is unchanged.
std::vector<int32_t> make(const Graph& graph, bool same_nodes, bool drop_loops, int32_t before = -1) {
  const auto size = static_cast<size_t>(edge_order_size(graph.targets, graph.edges()));
  std::vector<int32_t> order(size, before);
  order.resize(size + 8, kGuard);
  make_edge_order(graph.source.data(), graph.target.data(), graph.edges(), graph.sources, graph.targets,
                  same_nodes, drop_loops, order.data());
  for (size_t i = size; i < order.size(); ++i) EXPECT_EQ(order[i], kGuard) << "written after the end";
  order.resize(size);
  return order;
}

EdgeOrder view(const std::vector<int32_t>& order, const Graph& graph) {
  return view_edge_order(order.data(), static_cast<int64_t>(order.size()), graph.sources, graph.targets,
                         graph.edges());
}

void expect_closed_pieces(const EdgeOrder& order) {
  ASSERT_TRUE(order.closed);
  ASSERT_EQ(order.piece_ptr[0], 0);
  ASSERT_EQ(order.piece_ptr[order.pieces], order.targets);
  for (int64_t p = 0; p < order.pieces; ++p) {
    const int32_t begin = order.piece_ptr[p];
    const int32_t end = order.piece_ptr[p + 1];
    ASSERT_LT(begin, end);
    EXPECT_LE(end - begin, kMaxPieceNodes);
    EXPECT_TRUE(end - begin >= kPieceNodes || p + 1 == order.pieces);
    for (int32_t at = order.in_ptr[begin]; at < order.in_ptr[end]; ++at) {
      ASSERT_GE(order.source[at], begin);
      ASSERT_LT(order.source[at], end);
    }
  }
}

TEST(EdgeOrder, ListsEdgesByTargetInTheCallersOrder) {
  const std::vector<Graph> graphs = {random_graph(1, 7, 7, 40),     random_graph(2, 40, 40, 7),
                                     random_graph(3, 1, 1, 5),      random_graph(4, 900, 900, 3000),
                                     random_graph(5, 30, 12, 100),  random_graph(6, 12, 30, 100),
                                     random_graph(7, 9000, 9000, 0)};
  for (const Graph& graph : graphs)
    for (const bool drop_loops : {false, true}) {
      SCOPED_TRACE(testing::Message() << graph.sources << " sources, " << graph.targets << " targets, "
                                      << graph.edges() << " edges, loops dropped " << drop_loops);
      const std::vector<int32_t> numbers = make(graph, graph.sources == graph.targets, drop_loops);
      const EdgeOrder order = view(numbers, graph);
      std::vector<std::vector<int32_t>> expected(static_cast<size_t>(graph.targets));
      for (size_t e = 0; e < graph.source.size(); ++e)
        if (!drop_loops || graph.source[e] != graph.target[e])
          expected[static_cast<size_t>(graph.target[e])].push_back(static_cast<int32_t>(e));
      int64_t edges = 0;
      size_t max = 0;
      for (int64_t i = 0; i < graph.targets; ++i) {
        const std::vector<int32_t>& mine = expected[static_cast<size_t>(i)];
        ASSERT_EQ(std::vector<int32_t>(order.edge + order.in_ptr[i], order.edge + order.in_ptr[i + 1]), mine);
        for (size_t k = 0; k < mine.size(); ++k)
          ASSERT_EQ(order.source[order.in_ptr[i] + static_cast<int32_t>(k)],
                    graph.source[static_cast<size_t>(mine[k])]);
        edges += static_cast<int64_t>(mine.size());
        max = std::max(max, mine.size());
      }
      EXPECT_EQ(order.edges, edges);
      EXPECT_EQ(order.max_in, static_cast<int64_t>(max));
      EXPECT_EQ(order.sources, graph.sources);
      EXPECT_EQ(order.targets, graph.targets);
    }
}

TEST(EdgeOrder, PiecesOfABatchEndWhereGraphsEnd) {
  std::mt19937_64 draw(1);
  std::vector<int64_t> sizes;
  for (int g = 0; g < 300; ++g) sizes.push_back(1 + static_cast<int64_t>(draw() % 60));
  const Graph graph = paths(sizes);
  const std::vector<int32_t> numbers = make(graph, true, true);
  const EdgeOrder order = view(numbers, graph);
  expect_closed_pieces(order);
  EXPECT_GT(order.pieces, 5);
  std::set<int64_t> ends = {0};
  int64_t end = 0;
  for (const int64_t size : sizes) ends.insert(end += size);
  for (int64_t p = 0; p <= order.pieces; ++p) EXPECT_TRUE(ends.contains(order.piece_ptr[p]));
}

// Makes an order with the graphs' ptr.
std::vector<int32_t> make_with_ptr(const Graph& graph, const std::vector<int64_t>& ptr,
                                   bool drop_loops = true) {
  std::vector<int32_t> order(static_cast<size_t>(edge_order_size(graph.targets, graph.edges())), -1);
  make_edge_order(graph.source.data(), graph.target.data(), graph.edges(), graph.sources, graph.targets, true,
                  drop_loops, order.data(), ptr);
  return order;
}

TEST(EdgeOrder, PiecesBetweenGraphsAreThoseThatTheirSizesSay) {
  std::mt19937_64 draw(5);
  int open = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const uint64_t max = std::vector<uint64_t>{2, 40, 700, 5000, 8300}[static_cast<size_t>(trial % 5)];
    Graph graph;
    std::vector<int64_t> ptr = {0};
    PieceCount count;
    for (uint64_t left = draw() % 40; left > 0; --left) {
      const auto nodes = static_cast<int64_t>(draw() % max);
      for (uint64_t e = nodes > 0 ? draw() % 50 : 0; e > 0; --e)
        graph.add(ptr.back() + static_cast<int64_t>(draw() % static_cast<uint64_t>(nodes)),
                  ptr.back() + static_cast<int64_t>(draw() % static_cast<uint64_t>(nodes)));
      ptr.push_back(ptr.back() + nodes);
      count.add(nodes);
    }
    count.end();
    graph.sources = graph.targets = ptr.back();
    const std::vector<int32_t> numbers = make_with_ptr(graph, ptr);
    const EdgeOrder order = view(numbers, graph);
    ASSERT_EQ(order.closed, count.closed());
    open += order.closed || graph.targets == 0 ? 0 : 1;
    if (!order.closed) {
      EXPECT_EQ(numbers, make(graph, false, true));  // An order in one piece.
      continue;
    }
    expect_closed_pieces(order);
    int64_t largest = 0;
    for (int64_t p = 0; p < order.pieces; ++p) {
      largest = std::max<int64_t>(largest, order.piece_ptr[p + 1] - order.piece_ptr[p]);
      EXPECT_TRUE(std::find(ptr.begin(), ptr.end(), order.piece_ptr[p]) != ptr.end());
    }
    EXPECT_EQ(order.pieces, count.pieces());
    EXPECT_EQ(largest, count.largest());
  }
  EXPECT_GT(open, 5);
}

TEST(EdgeOrder, GraphsThatAreNotTheEdgesAreRefused) {
  const Graph graph = paths({3, 4});
  EXPECT_NO_THROW(make_with_ptr(graph, {0, 3, 7}));
  EXPECT_NO_THROW(make_with_ptr(graph, {0, 0, 3, 3, 7, 7}));
  EXPECT_NO_THROW(make_with_ptr(graph, {0, 7}));
  for (const std::vector<int64_t>& ptr : std::vector<std::vector<int64_t>>{
           {0}, {7}, {0, 3}, {0, 3, 8}, {1, 3, 7}, {0, 4, 3, 7}, {0, 8, 7}, {0, -1, 7}, {0, INT64_MAX, 7}})
    EXPECT_THROW(make_with_ptr(graph, ptr), InputError);
  EXPECT_THAT(error_text<InputError>([&] {
                make_with_ptr(graph, {0, 4, 7});
              }),
              testing::HasSubstr("comes from node"));
}

TEST(EdgeOrder, PiecesOfGraphsOfAnySizeAreClosed) {
  for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{
           {1}, {512}, {513}, {511, 1, 1}, {8192}, {300, 7000, 300}, {100, 8000, 7, 600, 600, 1, 1}}) {
    const Graph graph = paths(sizes);
    expect_closed_pieces(view(make(graph, true, false), graph));
  }
  const Graph isolated = {5000, 5000, {}, {}};
  expect_closed_pieces(view(make(isolated, true, true), isolated));
}

TEST(EdgeOrder, EdgesOfEitherDirectionHoldAPieceTogether) {
  for (const bool forward : {false, true}) {
    Graph graph = {1200, 1200, {}, {}};
    graph.add(forward ? 500 : 700, forward ? 700 : 500);
    const std::vector<int32_t> numbers = make(graph, true, true);
    const EdgeOrder order = view(numbers, graph);
    expect_closed_pieces(order);
    EXPECT_EQ(std::vector<int32_t>(order.piece_ptr, order.piece_ptr + order.pieces + 1),
              (std::vector<int32_t>{0, 701, 1200}));
  }
}

TEST(EdgeOrder, LargeGraphsAndOtherTargetsHaveOnePieceThatIsNotClosed) {
  const Graph large = paths({100, kMaxPieceNodes + 1, 100});
  Graph other = random_graph(3, 50, 20, 30);
  for (const auto& [graph, same_nodes] : {std::pair{large, true}, std::pair{other, false}}) {
    const std::vector<int32_t> numbers = make(graph, same_nodes, true);
    const EdgeOrder order = view(numbers, graph);
    EXPECT_FALSE(order.closed);
    EXPECT_EQ(order.pieces, 1);
    EXPECT_EQ(order.piece_ptr[0], 0);
    EXPECT_EQ(order.piece_ptr[1], graph.targets);
  }
}

TEST(EdgeOrder, ThereMayBeNoNodesAndNoEdges) {
  for (const bool same_nodes : {false, true})
    for (const Graph& graph : {Graph{}, Graph{3, 3, {}, {}}}) {
      const std::vector<int32_t> numbers = make(graph, same_nodes, true);
      const EdgeOrder order = view(numbers, graph);
      EXPECT_EQ(order.edges, 0);
      EXPECT_EQ(order.max_in, 0);
      EXPECT_EQ(order.in_ptr[graph.targets], 0);
    }
}

TEST(EdgeOrder, IsTheSameWhateverTheMemoryHeld) {
  for (const bool same_nodes : {false, true}) {
    const Graph graph = random_graph(8, 700, 700, 900);
    EXPECT_EQ(make(graph, same_nodes, true, 0), make(graph, same_nodes, true, -5));
  }
}

TEST(EdgeOrder, TransposedListsEdgesBySource) {
  for (const Graph& graph : {random_graph(1, 7, 7, 40), random_graph(5, 300, 120, 1000),
                             random_graph(6, 12, 30, 100), Graph{4, 4, {}, {}}}) {
    const std::vector<int32_t> numbers = make(graph, false, true);
    const EdgeOrder order = view(numbers, graph);
    std::vector<int32_t> ptr(static_cast<size_t>(graph.sources + 1));
    std::vector<int32_t> position(static_cast<size_t>(order.edges));
    std::vector<int32_t> target(static_cast<size_t>(order.edges));
    transpose_edge_order(order, ptr.data(), position.data(), target.data());
    ASSERT_EQ(ptr.front(), 0);
    ASSERT_EQ(ptr.back(), order.edges);
    for (int64_t j = 0; j < graph.sources; ++j) {
      std::vector<int32_t> expected;
      for (int32_t p = 0; p < order.edges; ++p)
        if (order.source[p] == j) expected.push_back(p);
      const auto begin = ptr[static_cast<size_t>(j)];
      const auto end = ptr[static_cast<size_t>(j + 1)];
      ASSERT_EQ(std::vector<int32_t>(position.begin() + begin, position.begin() + end), expected);
      for (int32_t o = begin; o < end; ++o) {
        const int32_t p = position[static_cast<size_t>(o)];
        const int32_t i = target[static_cast<size_t>(o)];
        EXPECT_TRUE(order.in_ptr[i] <= p && p < order.in_ptr[i + 1]);
      }
    }
  }
}

TEST(EdgeOrder, RefusesIndicesOutOfRange) {
  const auto text_of = [](const Graph& graph) {
    return error_text<InputError>([&] { make(graph, graph.sources == graph.targets, false); });
  };
  EXPECT_EQ(text_of({3, 3, {0, 1, 3}, {0, 1, 2}}),
            "edge 2 goes from node 3 to node 2, expected below 3 and 3");
  EXPECT_EQ(text_of({3, 3, {0, 1}, {0, -1}}), "edge 1 goes from node 1 to node -1, expected below 3 and 3");
  EXPECT_EQ(text_of({3, 2, {2}, {2}}), "edge 0 goes from node 2 to node 2, expected below 3 and 2");
  EXPECT_EQ(text_of({0, 0, {0}, {0}}), "edge 0 goes from node 0 to node 0, expected below 0 and 0");
  EXPECT_EQ(text_of({3, 3, {INT64_MIN}, {INT64_MAX}}),
            "edge 0 goes from node -9223372036854775808 to node 9223372036854775807, expected below 3 and 3");
}

TEST(EdgeOrder, RefusesMoreThanItCounts) {
  EXPECT_THROW(make_edge_order(nullptr, nullptr, 0, INT64_C(1) << 31, 5, false, false, nullptr), UsageError);
  EXPECT_THROW(make_edge_order(nullptr, nullptr, 0, 5, INT64_C(1) << 31, false, false, nullptr), UsageError);
  EXPECT_THROW(make_edge_order(nullptr, nullptr, INT64_C(1) << 31, 5, 5, true, false, nullptr), UsageError);
}

TEST(EdgeOrder, AViewRefusesAnOrderOfOtherCounts) {
  const Graph graph = random_graph(9, 10, 10, 30);
  const std::vector<int32_t> order = make(graph, true, true);
  const auto size = static_cast<int64_t>(order.size());
  EXPECT_NO_THROW(view_edge_order(order.data(), size, 10, 10, 30));
  EXPECT_THROW(view_edge_order(order.data(), size, 10, 10, 29), InputError);
  EXPECT_THROW(view_edge_order(order.data(), size, 9, 9, 30), InputError);
  EXPECT_THROW(view_edge_order(order.data(), size, 9, 9, 31), InputError);  // An order with as many numbers.
  EXPECT_THROW(view_edge_order(order.data(), size, 10, 10, 28), InputError);
  EXPECT_THROW(view_edge_order(order.data(), size - 1, 10, 10, 30), InputError);
  std::vector<int32_t> unmarked = order;
  unmarked[0] = 0;
  EXPECT_THROW(view_edge_order(unmarked.data(), size, 10, 10, 30), InputError);
}

TEST(EdgeOrder, AViewRefusesAnOrderOfOtherSources) {
  const Graph graph = random_graph(9, 100, 10, 30);
  const std::vector<int32_t> order = make(graph, false, false);
  EXPECT_THROW(view_edge_order(order.data(), static_cast<int64_t>(order.size()), 5, 10, 30), InputError);
}

}  // namespace
}  // namespace plimsoll
