#include "sample/typed/history_numbers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "support/errors.h"
#include "support/random_typed_graph.h"

namespace plimsoll {
namespace {

constexpr int64_t kDayOfTest = int64_t{86400} * 1'000'000'000;

// Users, without times, and orders, whose times are whole days.
RandomTypedGraph graph_of_days() {
  RandomTypedGraph graph(30, 200, 6, 5);
  for (int64_t& time : graph.order_time) time *= kDayOfTest;
  return graph;
}

float log_of(double value) {
  return static_cast<float>(std::log1p(value));
}

// The numbers of a user, computed by a loop over all edges.
std::vector<float> expected_numbers(const RandomTypedGraph& graph, int64_t user, int64_t end,
                                    const std::vector<int64_t>& days) {
  std::vector<int64_t> known;
  const auto& lists = graph.by_source;
  for (int64_t edge = lists.indptr[static_cast<size_t>(user)];
       edge < lists.indptr[static_cast<size_t>(user) + 1]; ++edge) {
    const int64_t time = graph.order_time[lists.indices[static_cast<size_t>(edge)]];
    if (time <= end) known.push_back(time);
  }
  std::vector<float> numbers;
  for (const int64_t span : days)
    numbers.push_back(log_of(static_cast<double>(
        std::ranges::count_if(known, [&](int64_t time) { return time > end - span * kDayOfTest; }))));
  numbers.push_back(log_of(static_cast<double>(known.size())));
  const auto days_since = [&](int64_t time) {
    return log_of(static_cast<double>(end - time) / static_cast<double>(kDayOfTest));
  };
  numbers.push_back(known.empty() ? 0 : days_since(std::ranges::max(known)));
  numbers.push_back(known.empty() ? 0 : days_since(std::ranges::min(known)));
  return numbers;
}

TEST(HistoryNumbers, EqualALoopOverAllEdges) {
  const RandomTypedGraph graph = graph_of_days();
  const TypedTopology topology = graph.topology();
  const std::vector<int64_t> days = {1, 5, 20};
  const HistoryNumbers history(topology, RandomTypedGraph::kUsers, {0, 1, 2, 3}, days);
  ASSERT_EQ(history.numbers(), 6);
  for (int64_t user = 0; user < graph.users; ++user)
    for (int64_t day = -1; day <= RandomTypedGraph::kTimes; ++day)
      for (const int64_t rest : {int64_t{0}, kDayOfTest / 3}) {
        std::vector<float> found(6, std::numeric_limits<float>::quiet_NaN());
        history.write(user, day * kDayOfTest + rest, found.data());
        EXPECT_EQ(found, expected_numbers(graph, user, day * kDayOfTest + rest, days)) << user << " " << day;
      }
}

TEST(HistoryNumbers, CountEarlyEdgesInSpansOfAWholeCentury) {
  RandomTypedGraph graph = graph_of_days();
  for (int64_t& time : graph.order_time)
    time -= 106'000 * kDayOfTest;  // In 1679, two years after the first moment.
  const TypedTopology topology = graph.topology();
  const HistoryNumbers history(topology, RandomTypedGraph::kUsers, {0, 1, 2, 3}, {36'500});
  for (int64_t user = 0; user < graph.users; ++user) {
    std::vector<float> found(static_cast<size_t>(history.numbers()));
    history.write(user, (RandomTypedGraph::kTimes - 106'000) * kDayOfTest, found.data());
    EXPECT_EQ(found[0], found[1]) << user;
    history.write(user, 106'000 * kDayOfTest, found.data());
    EXPECT_EQ(found[0], 0) << user;
    EXPECT_TRUE(found[3] == 0 || found[3] > log_of(211'000)) << user;
  }
}

// The first edge of a list is the only one that no search looks at.
TEST(HistoryNumbers, RefuseAFirstEdgeWithoutASource) {
  RandomTypedGraph graph = graph_of_days();
  const std::vector<int64_t>& indptr = graph.by_source.indptr;
  size_t user = 0;
  while (indptr[user + 1] - indptr[user] < 3) ++user;
  graph.by_source.indices[static_cast<size_t>(indptr[user])] = std::numeric_limits<uint32_t>::max();
  const TypedTopology topology = graph.topology();
  const HistoryNumbers history(topology, RandomTypedGraph::kUsers, {0, 1, 2, 3}, {1});
  std::vector<float> numbers(static_cast<size_t>(history.numbers()));
  EXPECT_THAT(error_text<InputError>(
                  [&] { history.write(static_cast<int64_t>(user), 1000 * kDayOfTest, numbers.data()); }),
              testing::HasSubstr("found node 4294967295"));
}

// Edges without times, with the times of their targets, or with sources of other times have no numbers.
TEST(HistoryNumbers, DescribeOnlyEdgesWhoseTimesDecide) {
  const RandomTypedGraph graph = graph_of_days();
  const TypedTopology topology = graph.topology();
  EXPECT_EQ(HistoryNumbers(topology, RandomTypedGraph::kUsers, {1, 2, 3}, {7}).numbers(), 0);
  EXPECT_EQ(HistoryNumbers(topology, RandomTypedGraph::kOrders, {0, 1, 2, 3}, {7}).numbers(), 0);
  EXPECT_EQ(HistoryNumbers(topology, RandomTypedGraph::kUsers, {0}, {}).numbers(), 0);
  EXPECT_EQ(HistoryNumbers(topology, RandomTypedGraph::kUsers, {0}, {7}).numbers(), 4);
}

}  // namespace
}  // namespace plimsoll
