#include "sample/block/graph_set_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <numeric>

#include "store/made_up_sets.h"
#include "support/errors.h"
#include "support/temp_folder.h"
#include "support/write_bytes.h"

namespace plimsoll {
namespace {

using testing::ElementsAreArray;
using testing::IsEmpty;

// Writes made_up_graphs(10) with coordinates, of which `change` may modify some.
template <typename Change>
void write_with_positions(const std::filesystem::path& folder, const Change& change) {
  const GraphColumns columns = made_up_graphs(10);
  std::vector<float> pos(static_cast<size_t>(kCoordinates * columns.node_ptr.back()));
  std::iota(pos.begin(), pos.end(), 1.0F);
  for (size_t z = 2; z < pos.size(); z += kCoordinates) pos[z] = 4;
  change(pos, columns);
  GraphSpans spans = columns.spans();
  spans.pos = pos;
  GraphSetWriter writer(folder, true, 3, 2);
  writer.append(spans);
  writer.publish(made_up_tables(), {});
}

TEST(GraphSetSource, GivesCoordinatesWhereTheyAreAskedFor) {
  const TempFolder parent;
  std::vector<float> all;
  write_with_positions(parent / "set", [&](std::vector<float>& pos, const GraphColumns&) { all = pos; });
  const GraphColumns columns = made_up_graphs(10);
  const GraphSetSource source(parent / "set", {.positions = true});
  EXPECT_EQ(source.widths().coordinates, kCoordinates);
  EXPECT_TRUE(source.widths().planar);
  GraphBlock block;
  const std::vector<int64_t> chosen = {7, 2};
  for (int round = 0; round < 2; ++round) {
    source.read(chosen, block);
    std::vector<float> expected;
    for (const int64_t g : chosen)
      expected.insert(expected.end(), all.begin() + 3 * columns.node_ptr[static_cast<size_t>(g)],
                      all.begin() + 3 * columns.node_ptr[static_cast<size_t>(g) + 1]);
    EXPECT_THAT(block.pos, ElementsAreArray(expected));
  }
  GraphSetSource(parent / "set").read(chosen, block);
  EXPECT_THAT(block.pos, IsEmpty());

  write_with_positions(parent / "set", [](std::vector<float>& pos, const GraphColumns&) { pos.back() = 5; });
  EXPECT_FALSE(GraphSetSource(parent / "set", {.positions = true}).widths().planar);
}

TEST(GraphSetSource, NamesWhatLacksCoordinates) {
  const TempFolder parent;
  write_made_up_graphs(parent / "plain");
  EXPECT_THAT(error_text<InputError>([&] { GraphSetSource(parent / "plain", {.positions = true}); }),
              testing::AllOf(testing::HasSubstr("has no column 'pos'"),
                             testing::HasSubstr("plimsoll ingest points")));
  for (const float value :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    write_with_positions(parent / "set", [&](std::vector<float>& pos, const GraphColumns& columns) {
      pos[static_cast<size_t>(3 * columns.node_ptr[6] + 1)] = value;
    });
    EXPECT_THAT(error_text<InputError>([&] { GraphSetSource(parent / "set", {.positions = true}); }),
                testing::HasSubstr("graph 6: the coordinate y of node 0 is"));
  }
}

// The pointers may claim any number of nodes: no other column bounds it.
TEST(GraphSetSource, NodesWithoutFeaturesAreRefused) {
  const TempFolder parent;
  const std::vector<int64_t> node_ptr = {0, int64_t{1} << 31}, edge_ptr = {0, 0}, y = {0};
  {
    GraphSetWriter writer(parent / "set", false, 0, 0);
    writer.append({node_ptr, edge_ptr, {}, {}, {}, y});
    GraphSetTables tables;
    tables.splits = {{"all", "", 0, 1, {}, {}}};
    writer.publish(tables, {});
  }
  EXPECT_NO_THROW(GraphSetView(parent / "set"));
  EXPECT_THAT(error_text<InputError>([&] { GraphSetSource(parent / "set"); }),
              testing::HasSubstr("nodes have no features"));
}

TEST(GraphSetSource, GivesTheClassesOfNodesWithTheirGraphs) {
  const TempFolder parent;
  const GraphColumns columns = made_up_graphs(10);
  std::vector<int64_t> classes(static_cast<size_t>(columns.node_ptr.back()));
  std::iota(classes.begin(), classes.end(), -1);
  GraphSpans spans = columns.spans();
  spans.node_y = classes;
  {
    GraphSetWriter writer(parent / "set", false, 3, 2);
    writer.append(spans);
    writer.publish(made_up_tables(), {});
  }
  const GraphSetSource source(parent / "set");
  GraphBlock block;
  const std::vector<int64_t> chosen = {7, 2};
  for (int round = 0; round < 2; ++round) {  // The second round reuses a block.
    source.read(chosen, block);
    std::vector<int64_t> expected;
    for (const int64_t g : chosen)
      for (int64_t i = columns.node_ptr[static_cast<size_t>(g)];
           i < columns.node_ptr[static_cast<size_t>(g) + 1]; ++i)
        expected.push_back(classes[static_cast<size_t>(i)]);
    EXPECT_THAT(block.node_y, ElementsAreArray(expected));
    EXPECT_THAT(block.spans().node_y, ElementsAreArray(expected));
  }

  // After reading from another set the block keeps none of them.
  write_made_up_graphs(parent / "plain");
  GraphSetSource(parent / "plain").read(chosen, block);
  EXPECT_THAT(block.node_y, IsEmpty());
}

TEST(GraphSetSource, PointersWhoseDifferenceIsNoNumberAreRefused) {
  const TempFolder parent;
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  for (const char* column : {"node_ptr", "edge_ptr"}) {
    write_made_up_graphs(parent / "set");
    std::string bytes = read_bytes(parent / "set" / (std::string(column) + ".npy"));
    std::memcpy(bytes.data() + kNpyDataOffset + 6 * sizeof(int64_t), &kMin, sizeof(kMin));
    write_bytes(parent / "set" / (std::string(column) + ".npy"), bytes);
    const GraphSetSource source(parent / "set");
    GraphBlock block;
    for (const int64_t graph : {5, 6}) {
      EXPECT_THROW(source.read(std::span(&graph, 1), block), InputError) << column << " " << graph;
      source.will_need(std::span(&graph, 1));
    }
  }
}

}  // namespace
}  // namespace plimsoll
