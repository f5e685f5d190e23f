#include "sample/topology/symmetric_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

#include "support/errors.h"
#include "support/giant_graph.h"
#include "support/ledger_cap.h"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(SymmetricGraph, JoinsBothDirectionsAndRepetitions) {
  const std::vector<int64_t> indptr{0, 4, 5, 6, 6};
  const std::vector<int64_t> indices{0, 1, 2, 2, 0, 2};  // Two loops, 0-1 from both sides, 0-2 twice.
  const SymmetricGraph graph = symmetric_graph(CsrTopology(indptr, std::span<const int64_t>(indices)));
  EXPECT_THAT(graph.row_ptr, ElementsAre(0, 2, 3, 4, 4));
  EXPECT_THAT(graph.neighbours, ElementsAre(1, 2, 0, 0));
  EXPECT_THAT(graph.weights, ElementsAre(2, 2, 2, 2));
}

TEST(SymmetricGraph, WeighsWhatStandsInTheLists) {
  const GiantGraph given = skewed_graph(300, 5);
  std::map<std::pair<int64_t, int64_t>, int32_t> expected;
  for (int64_t edge = 0; edge < given.indptr.back(); ++edge) {
    const int64_t node = given.owner(edge);
    const int64_t neighbour = given.indices[static_cast<size_t>(edge)];
    if (node == neighbour) continue;
    ++expected[{node, neighbour}];
    ++expected[{neighbour, node}];
  }
  const SymmetricGraph graph = symmetric_graph(given.topology());
  ASSERT_EQ(graph.neighbours.size(), expected.size());
  std::map<std::pair<int64_t, int64_t>, int32_t> found;
  for (size_t node = 0; node < 300; ++node)
    for (auto i = static_cast<size_t>(graph.row_ptr[node]); i < static_cast<size_t>(graph.row_ptr[node + 1]);
         ++i)
      found[{static_cast<int64_t>(node), graph.neighbours[i]}] = graph.weights[i];
  EXPECT_EQ(found, expected);
}

// 8 bytes per node, 8 per edge and 8 per entry, and the columns of one read.
TEST(SymmetricGraph, HoldsWhatItSays) {
  const GiantGraph given = skewed_graph(20'000, 1);
  const int64_t edges = given.indptr.back();
  const LedgerCap cap(8 * 20'001 + 8 * edges + 8 * 2 * edges + (128 << 10));
  EXPECT_NO_THROW(symmetric_graph(given.topology()));
  const LedgerCap less(8 * 20'001 + 8 * edges);
  EXPECT_THROW(symmetric_graph(given.topology()), BudgetExceeded);
}

// A graph that claims these numbers of nodes and edges; nothing in it is read.
class ClaimedSize final : public Topology {
 public:
  ClaimedSize(int64_t nodes, int64_t edges) : nodes_(nodes), edges_(edges) {}
  int64_t nodes() const override { return nodes_; }
  int64_t edges() const override { return edges_; }
  bool weighted() const override { return false; }
  void read_lists(std::span<const int64_t>, std::span<EdgeRange>) const override { FAIL(); }
  void read_neighbours(std::span<const int64_t>, std::span<int64_t>) const override { FAIL(); }
  void read_weights(std::span<const int64_t>, std::span<float>) const override { FAIL(); }
  void find(std::span<const EdgeRange>, std::span<const int64_t>, std::span<uint8_t>) const override {
    FAIL();
  }

 private:
  int64_t nodes_;
  int64_t edges_;
};

TEST(SymmetricGraph, RefusesWhat32BitsDoNotCount) {
  const auto text = [](int64_t nodes, int64_t edges) {
    return error_text<UsageError>([&] { symmetric_graph(ClaimedSize(nodes, edges)); });
  };
  EXPECT_THAT(text(5, (int64_t{1} << 29) + 1), HasSubstr("536870913 edges, expected at most"));
  EXPECT_THAT(text((int64_t{1} << 30) + 1, 5), HasSubstr("1073741825 nodes"));
}

}  // namespace
}  // namespace plimsoll
