#include "sample/topology/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "support/errors.h"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<int64_t> kIndptr = {0, 2, 2, 5};
const std::vector<int64_t> kIndices = {1, 2, 0, 1, 2};
const std::vector<uint32_t> kShortIndices = {1, 2, 0, 1, 2};

TEST(CsrTopology, ReadsListsNeighboursAndWeightsInAnyOrder) {
  const std::vector<float> weights = {1, 2, 3, 4, 5};
  for (const CsrTopology::Indices& indices :
       {CsrTopology::Indices(std::span(kIndices)), CsrTopology::Indices(std::span(kShortIndices))}) {
    const CsrTopology topology(kIndptr, indices, weights);
    EXPECT_EQ(topology.nodes(), 3);
    EXPECT_EQ(topology.edges(), 5);
    std::vector<EdgeRange> lists(3);
    topology.read_lists(std::vector<int64_t>{2, 0, 1}, lists);
    EXPECT_EQ(lists[0].first, 2);
    EXPECT_EQ(lists[0].degree, 3);
    EXPECT_EQ(lists[1].degree, 2);
    EXPECT_EQ(lists[2].degree, 0);
    std::vector<int64_t> neighbours(3);
    topology.read_neighbours(std::vector<int64_t>{4, 0, 2}, neighbours);
    EXPECT_THAT(neighbours, ElementsAre(2, 1, 0));
    std::vector<float> some(2);
    topology.read_weights(std::vector<int64_t>{3, 0}, some);
    EXPECT_THAT(some, ElementsAre(4, 1));
  }
}

TEST(CsrTopology, RefusesColumnsThatContradictEachOther) {
  const std::vector<int64_t> none;
  const std::vector<int64_t> too_far = {0, 6};
  const std::vector<float> one = {1};
  const auto make = [](const std::vector<int64_t>& indptr, const std::vector<float>& weights) {
    return error_text<InputError>([&] { CsrTopology(indptr, std::span(kIndices), weights); });
  };
  EXPECT_THAT(make(none, {}), HasSubstr("found 0 entries"));
  EXPECT_THAT(make(too_far, {}), HasSubstr("from 0 to 6"));
  EXPECT_THAT(make(kIndptr, one), HasSubstr("expected one for each of 5 edges"));
}

TEST(CsrTopology, RefusesDamageWhereItReadsIt) {
  const std::vector<int64_t> descending = {0, 4, 2, 5};
  const std::vector<int64_t> strange = {1, 2, 0, 3, -1};
  std::vector<EdgeRange> lists(1);
  std::vector<int64_t> neighbours(1);
  const CsrTopology bad_lists(descending, std::span(kIndices));
  bad_lists.read_lists(std::vector<int64_t>{0}, lists);
  EXPECT_THAT(error_text<InputError>([&] { bad_lists.read_lists(std::vector<int64_t>{1}, lists); }),
              HasSubstr("found 4 and 2 at node 1"));
  EXPECT_THAT(error_text<UsageError>([&] { bad_lists.read_lists(std::vector<int64_t>{3}, lists); }),
              HasSubstr("node 3 is not in the graph; expected 0 to 2"));
  const CsrTopology bad_neighbours(kIndptr, std::span(strange));
  for (const int64_t edge : {3, 4})
    EXPECT_THAT(error_text<InputError>(
                    [&] { bad_neighbours.read_neighbours(std::vector<int64_t>{edge}, neighbours); }),
                HasSubstr("at edge " + std::to_string(edge)));
}

}  // namespace
}  // namespace plimsoll
