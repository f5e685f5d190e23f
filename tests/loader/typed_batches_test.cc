#include "loader/typed_batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "loader/batch_stream.h"
#include "support/errors.h"
#include "support/random_typed_graph.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kUserCount = 30;

TypedLoading user_loading() {
  TypedLoading loading;
  loading.sampling.fan_outs = {{3, 2}, {2, 2}, {2, 1}, {1, 1}};
  loading.batching = {.batch_size = 8, .shuffle = true, .seed = 3};
  for (int64_t i = 0; i < kUserCount; ++i) loading.times.push_back(10 + i);
  return loading;
}

std::vector<int64_t> values_of(CollatedBatch& batch, const TypedFields& fields, TypedField field) {
  int64_t rows = 1;
  for (const int64_t axis : fields.shape(field, batch.counts)) rows *= axis;
  const auto* const first = batch[field].as<int64_t>();
  return {first, first + rows};
}

TEST(TypedBatches, HaveTheSampleOfTheirSeedsOneTypeAfterTheOther) {
  const RandomTypedGraph graph(kUserCount, 80, 12, 5);
  const auto source = std::make_shared<LoadedTypes>(graph.topology(), user_loading());
  const TypedFields& fields = source->fields();
  TypedBatches batches(source, 2, {}, BatchMemory::make());
  ASSERT_EQ(batches.size(), 4);
  std::vector<int64_t> all;
  for (int64_t b = 0; b < batches.size(); ++b) {
    CollatedBatch batch = batches.make(b);
    const std::vector<int64_t> numbers = values_of(batch, fields, TypedField::input_id);
    all.insert(all.end(), numbers.begin(), numbers.end());
    std::vector<int64_t> times;
    for (const int64_t i : numbers) times.push_back(10 + i);
    const TypedSeeds seeds{0, numbers, times};
    TypedSample expected;
    TypedSampler(source->topology(), source->loading().sampling, 3).sample(std::span(&seeds, 1), 2, expected);
    std::vector<int64_t> nodes, ends, edges;
    for (const auto& type : expected.nodes) nodes.insert(nodes.end(), type.node.begin(), type.node.end());
    for (const auto& type : expected.edges) {
      ends.insert(ends.end(), type.row.begin(), type.row.end());
      ends.insert(ends.end(), type.col.begin(), type.col.end());
      edges.insert(edges.end(), type.edge.begin(), type.edge.end());
    }
    EXPECT_EQ(values_of(batch, fields, TypedField::n_id), nodes);
    EXPECT_EQ(values_of(batch, fields, TypedField::edge_index), ends);
    EXPECT_EQ(values_of(batch, fields, TypedField::e_id), edges);
    EXPECT_EQ(values_of(batch, fields, TypedField::nodes_per_hop).front(),
              static_cast<int64_t>(numbers.size()));
  }
  std::sort(all.begin(), all.end());
  std::vector<int64_t> once(kUserCount);
  std::iota(once.begin(), once.end(), 0);
  EXPECT_EQ(all, once);
}

TEST(TypedBatches, AreChargedToTheLedger) {
  const RandomTypedGraph graph(kUserCount, 80, 12, 6);
  const auto source = std::make_shared<LoadedTypes>(graph.topology(), user_loading());
  const auto memory = BatchMemory::make();
  BatchStream stream(std::make_unique<TypedBatches>(source, 1, Share{}, memory), 0, 0, memory);
  const auto batch = stream.next();
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(memory->live(), batch->bytes());
  EXPECT_GE(batch->bytes(), 8 * (2 * batch->counts.nodes + 3 * batch->counts.edges));
}

TEST(LoadedTypes, RefusesSeedsAndTimesThatDoNotFit) {
  const RandomTypedGraph graph(kUserCount, 80, 12, 7);
  const auto refusal = [&](const TypedLoading& loading) {
    return error_text<UsageError>([&] { LoadedTypes(graph.topology(), loading); });
  };
  TypedLoading loading = user_loading();
  loading.times.pop_back();
  EXPECT_THAT(refusal(loading), HasSubstr("found 29 times, expected one for each of 30"));
  loading = user_loading();
  loading.seeds = GraphList{kUserCount};
  loading.times = {1};
  EXPECT_THAT(refusal(loading), HasSubstr("node 30 of 30; expected 0 to 29"));
  loading.seed_type = 2;
  EXPECT_THAT(refusal(loading), HasSubstr("node type 2 of 2"));
}

}  // namespace
}  // namespace plimsoll
