#include "store/merge_shards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "io/file.h"
#include "store/made_up_sets.h"
#include "store/shard.h"
#include "support/errors.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Pair;

TEST(Shard, IsReadAsItIsWritten) {
  const Shard shard = Shard::parse("2/8");
  EXPECT_EQ(shard.number, 2);
  EXPECT_EQ(shard.shards, 8);
  EXPECT_TRUE(Shard::parse("1/1").is_all());
  for (const char* wrong : {"", "2", "0/3", "4/3", "1/0", "-1/3", "a/b", "1/3x", "1/3/5", "1/999999999999"})
    EXPECT_THAT(error_text<UsageError>([&] { Shard::parse(wrong); }), HasSubstr("expected I/N")) << wrong;
}

TEST(Shard, ItemsAreSharedOutInOrderAndOnceEach) {
  const std::vector<std::vector<int64_t>> lists = {
      {}, {5}, {0, 0, 0}, {1, 1, 1, 1}, {100, 1, 1, 1}, {1, 1, 1, 100}, {3, 0, 9, 2, 7}};
  for (const auto& weights : lists)
    for (int64_t shards = 1; shards <= 6; ++shards) {
      size_t next = 0;
      for (int64_t number = 1; number <= shards; ++number) {
        const auto [first, end] = Shard{number, shards}.items(weights);
        EXPECT_EQ(first, next);
        EXPECT_GE(end, first);
        next = end;
      }
      EXPECT_EQ(next, weights.size());
    }
  EXPECT_THAT((Shard{2, 2}.items(std::vector<int64_t>{1, 1, 1, 1})), Pair(2U, 4U));
  EXPECT_THAT((Shard{1, 3}.items(int64_t{10})), Pair(0, 3));
  EXPECT_THAT((Shard{3, 3}.items(int64_t{10})), Pair(6, 10));
}

class MergeShards : public testing::Test {
 protected:
  TempFolder folder_;
};

TEST_F(MergeShards, GraphsAreThoseOfOneProcess) {
  write_made_up_graphs(folder_ / "whole");
  const GraphSetView whole(folder_ / "whole");
  const auto cut = [](std::vector<GraphRange> ranges, int64_t first, int64_t end) {
    for (GraphRange& range : ranges) {
      const int64_t last = std::clamp(range.first_graph + range.graphs, first, end);
      range.first_graph = std::clamp(range.first_graph, first, end);
      range.graphs = last - range.first_graph;
      range.first_graph -= first;
    }
    return ranges;
  };
  std::vector<fs::path> shards;
  for (int64_t number = 1; number <= 3; ++number) {
    const Shard shard{number, 3};
    const auto [first, end] = shard.items(10);
    const auto f = static_cast<size_t>(first), n = static_cast<size_t>(end - first);
    const GraphSpans& all = whole.graphs();
    const auto part = [](auto values, int64_t from, int64_t to) {
      return values.subspan(static_cast<size_t>(from), static_cast<size_t>(to - from));
    };
    const int64_t n0 = all.node_ptr[f], n1 = all.node_ptr[f + n], e0 = all.edge_ptr[f],
                  e1 = all.edge_ptr[f + n];
    const GraphSpans some{all.node_ptr.subspan(f, n + 1),      all.edge_ptr.subspan(f, n + 1),
                          part(all.x, 3 * n0, 3 * n1),         part(all.edges, 2 * e0, 2 * e1),
                          part(all.edge_attr, 2 * e0, 2 * e1), all.y.subspan(f, n)};
    shards.push_back(folder_ / std::to_string(number));
    GraphSetWriter writer(shards.back(), true, 3, 2);
    writer.append(some);
    GraphSetTables tables = made_up_tables();
    tables.splits = cut(tables.splits, first, end);
    tables.recordings = cut(tables.recordings, first, end);
    writer.publish(tables, make_provenance("made up", {{"shard", shard.to_json("a")}}));
    EXPECT_NO_THROW(GraphSetView{shards.back()});
  }
  EXPECT_EQ(merge_shards({.shards = shards, .out = folder_ / "merged"}).rows, 10);
  for (const char* column : {"node_ptr", "edge_ptr", "x", "edges", "edge_attr", "y"})
    EXPECT_EQ(read_text(folder_ / "whole" / (std::string(column) + ".npy")),
              read_text(folder_ / "merged" / (std::string(column) + ".npy")));
  Json expected = read_manifest(folder_ / "whole"), found = read_manifest(folder_ / "merged");
  expected.erase("provenance");
  found.erase("provenance");
  EXPECT_EQ(expected, found);
}

TEST_F(MergeShards, GraphsWhoseColumnsDifferInWidthAreRefused) {
  const std::vector<float> numbers(10, 1.0F);
  const std::vector<int64_t> node_ptr = {0, 2}, edge_ptr = {0, 1}, y = {0};
  const std::vector<int32_t> edges = {0, 1};
  const std::vector<int64_t> classes = {0, 1};
  const auto write = [&](int64_t number, int64_t x, int64_t edge_attr, const TargetWidths& targets,
                         bool has_classes = false) {
    const fs::path folder = folder_ / std::to_string(number);
    const auto some = [&](int64_t count) { return std::span(numbers).first(static_cast<size_t>(count)); };
    GraphSetWriter writer(folder, true, x, edge_attr, targets);
    writer.append({.node_ptr = node_ptr,
                   .edge_ptr = edge_ptr,
                   .x = some(2 * x),
                   .edges = edges,
                   .edge_attr = some(edge_attr),
                   .y = y,
                   .node_y = has_classes ? std::span(classes) : std::span<const int64_t>(),
                   .target = some(targets.graph),
                   .node_target = some(2 * targets.node)});
    GraphSetTables tables;
    tables.splits = {{"all", "", 0, 1, {}, {}}};
    writer.publish(tables, make_provenance("made up", {{"shard", Shard{number, 2}.to_json("a")}}));
    return folder;
  };
  const fs::path one = write(1, 2, 1, {.graph = 1, .node = 1});
  const auto error = [&](const fs::path& two) {
    return error_text<InputError>([&] { merge_shards({.shards = {one, two}, .out = folder_ / "merged"}); });
  };
  EXPECT_THAT(error(write(2, 3, 1, {.graph = 1, .node = 1})),
              HasSubstr("2: has 3 node features (x), " + one.string() + " has 2"));
  EXPECT_THAT(error(write(2, 2, 0, {.graph = 1, .node = 1})), HasSubstr("has 0 edge features"));
  EXPECT_THAT(error(write(2, 2, 1, {.graph = 2, .node = 1})), HasSubstr("has 2 targets per graph"));
  EXPECT_THAT(error(write(2, 2, 1, {.graph = 1})), HasSubstr("has 0 targets per node"));
  EXPECT_THAT(error(write(2, 2, 1, {.graph = 1, .node = 1}, true)), HasSubstr("has 1 classes per node"));
  EXPECT_FALSE(fs::exists(folder_ / "merged"));
  const fs::path two = write(2, 2, 1, {.graph = 1, .node = 1});
  EXPECT_EQ(merge_shards({.shards = {one, two}, .out = folder_ / "merged"}).rows, 2);
}

}  // namespace
}  // namespace plimsoll
