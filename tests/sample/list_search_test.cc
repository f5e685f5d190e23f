#include "sample/topology/list_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "support/errors.h"
#include "support/giant_graph.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

TEST(ListSearch, FindsEveryNodeInEveryList) {
  const GiantGraph graph = skewed_graph(80, 1);
  const CsrTopology topology = graph.topology();
  ListSearch search(topology);
  std::vector<int64_t> lists_of;
  std::vector<int64_t> nodes;
  for (int64_t v = 0; v < 80; ++v)
    for (int64_t node = 0; node < 80; ++node) {
      lists_of.push_back(v);
      nodes.push_back(node);
    }
  std::vector<EdgeRange> lists(nodes.size());
  topology.read_lists(lists_of, lists);
  std::vector<int64_t> places(nodes.size());
  std::vector<uint8_t> found(nodes.size());
  search.find(lists, nodes, places, found);
  std::vector<int64_t> missing_of;
  std::vector<EdgeRange> missing_lists;
  std::vector<int64_t> ranks;
  std::vector<int64_t> expected;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto begin = graph.indices.begin() + lists[i].first;
    EXPECT_EQ(found[i] != 0, graph.has_edge(lists_of[i], nodes[i]));
    EXPECT_EQ(places[i], std::lower_bound(begin, begin + lists[i].degree, nodes[i]) - begin);
    if (found[i] != 0) continue;
    missing_lists.push_back(lists[i]);
    ranks.push_back(nodes[i] - places[i]);
    expected.push_back(nodes[i]);
  }
  std::vector<int64_t> missing(ranks.size());
  search.find_missing(missing_lists, ranks, missing);
  EXPECT_EQ(missing, expected);
}

TEST(ListSearch, SaysWhichListDoesNotAscend) {
  GiantGraph graph = star(5000);
  EXPECT_NO_THROW(require_ascending_lists(graph.topology()));
  graph.indices[4096] = graph.indices[4095];
  EXPECT_THAT(error_text<InputError>([&] { require_ascending_lists(graph.topology()); }),
              HasSubstr("found 4096 after 4096 in the list of node 0"));
}

}  // namespace
}  // namespace plimsoll
