#include "store/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "store/verify.h"
#include "support/errors.h"
#include "support/fault_trials.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;

// The graph of docs/formats/graph.md with all its columns.
struct Columns {
  std::vector<int64_t> ends = {2, 3, 3, 4};
  std::vector<uint32_t> indices = {1, 3, 0, 1};
  std::vector<float> weight = {0.5, 1, 2, 3};
  std::vector<float> attr = {1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<float> x = {0, 1, 2, 3};
  std::vector<int64_t> y = {1, -1, 0, 1};
  std::vector<int64_t> id = {7, 9, 2, 100};
  std::vector<int64_t> train = {0, 2};
  std::vector<std::string> names = {};
};

GraphTables made_up_tables() {
  return {.direction = EdgeDirection::out,
          .classes = 2,
          .class_names = {"a", "b"},
          .node_features = {"size"},
          .edge_features = {"k", "l"}};
}

void write(const std::filesystem::path& folder, const Columns& columns, const GraphTables& tables,
           FileSystem& files = FileSystem::disk()) {
  GraphWriter writer(folder, true, files);
  writer.append_row_ends(columns.ends);
  writer.append_indices(std::span<const uint32_t>(columns.indices));
  writer.append_edge_weight(columns.weight);
  writer.append_edge_attr(columns.attr, 2);
  writer.append_x(columns.x, 1);
  writer.append_y(columns.y);
  writer.append_node_id(columns.id);
  writer.append_split(0, columns.train);
  for (const std::string& name : columns.names) writer.append_node_name(name);
  writer.publish(tables, make_provenance("made up", {}));
}

class GraphTest : public testing::Test {
 protected:
  void expect_finding(const std::function<void(Columns&)>& damage, const std::string& about) const {
    Columns columns;
    damage(columns);
    write(folder_, columns, made_up_tables());
    EXPECT_THAT(verify_data_set(folder_), ElementsAre(HasSubstr(about)));
  }
  void expect_refused(const std::function<void(Json&)>& damage, const std::string& about) const {
    write(folder_, {}, made_up_tables());
    Json manifest = read_manifest(folder_);
    damage(manifest);
    write_bytes(folder_ / "manifest.json", manifest.dump());
    EXPECT_THAT(error_text<InputError>([&] { GraphView view(folder_); }), HasSubstr(about));
  }
  TempFolder parent_;
  std::filesystem::path folder_ = parent_ / "graph";
};

TEST_F(GraphTest, WhatWasWrittenIsRead) {
  Columns columns;
  columns.names = {"", "a", "ab", "c"};
  columns.id = {3, 2, 1, 0};
  write(folder_, columns, made_up_tables());
  EXPECT_THAT(verify_data_set(folder_), IsEmpty());
  const GraphView graph(folder_);
  EXPECT_EQ(graph.nodes(), 4);
  EXPECT_EQ(graph.edges(), 4);
  EXPECT_THAT(graph.indptr(), ElementsAre(0, 2, 3, 3, 4));
  EXPECT_THAT(graph.indices(), ElementsAreArray(columns.indices));
  EXPECT_EQ(graph.neighbour(1), 3);
  EXPECT_THAT(graph.edge_weight(), ElementsAreArray(columns.weight));
  EXPECT_THAT(graph.edge_attr(), ElementsAreArray(columns.attr));
  std::vector<float> x(columns.x.size());
  graph.copy_x(0, x);
  EXPECT_EQ(x, columns.x);
  EXPECT_THAT(graph.y(), ElementsAreArray(columns.y));
  EXPECT_THAT(graph.split(0), ElementsAre(0, 2));
  EXPECT_THAT(graph.split(2), IsEmpty());
  EXPECT_EQ(graph.name(graph.id(0)), "c");
  EXPECT_EQ(graph.name(graph.id(3)), "");
  EXPECT_EQ(graph.tables().direction, EdgeDirection::out);
  EXPECT_THAT(graph.tables().class_names, ElementsAre("a", "b"));
  EXPECT_THAT(graph.tables().edge_features, ElementsAre("k", "l"));
  EXPECT_EQ(graph.node_features(), 1);
  EXPECT_EQ(graph.edge_features(), 2);
}

TEST_F(GraphTest, OneOfRowsAloneAndAnEmptyOneAreKept) {
  {
    GraphWriter writer(folder_, true);
    writer.append_row_ends(std::vector<int64_t>{1, 2});
    writer.append_indices(std::vector<int64_t>{1, 0});
    writer.publish({}, {});
  }
  EXPECT_THAT(verify_data_set(folder_), IsEmpty());
  const GraphView wide(folder_);
  EXPECT_THAT(wide.wide_indices(), ElementsAre(1, 0));
  EXPECT_EQ(wide.neighbour(0), 1);
  EXPECT_EQ(wide.id(1), 1);
  EXPECT_FALSE(wide.has_names());
  GraphWriter(folder_, true).publish({}, {});
  EXPECT_EQ(GraphView(folder_).nodes(), 0);
}

TEST_F(GraphTest, ColumnsThatDoNotAgreeAreNotPublished) {
  Columns columns;
  columns.x.pop_back();
  EXPECT_THAT(error_text<Failure>([&] { write(folder_, columns, made_up_tables()); }), HasSubstr("'x'"));
  EXPECT_FALSE(std::filesystem::exists(folder_));
}

TEST_F(GraphTest, VerifySaysWhatIsWrong) {
  expect_finding([](Columns& c) { c.ends = {3, 2, 3, 4}; }, "node 1: its row ends before it begins");
  expect_finding([](Columns& c) { c.indices = {1, 4, 0, 1}; }, "edge 1: its neighbour 4");
  expect_finding([](Columns& c) { c.indices = {3, 1, 0, 1}; }, "node 0: its neighbours are not");
  expect_finding([](Columns& c) { c.x[2] = INFINITY; }, "'x' holds a value that is not finite");
  expect_finding([](Columns& c) { c.weight[0] = NAN; }, "'edge_weight'");
  expect_finding([](Columns& c) { c.attr[7] = NAN; }, "'edge_attr'");
  expect_finding([](Columns& c) { c.y[3] = 2; }, "node 3: y 2");
  expect_finding([](Columns& c) { c.y[1] = -2; }, "node 1: y -2");
  expect_finding([](Columns& c) { c.train = {2, 2}; }, "'train_idx'");
  expect_finding([](Columns& c) { c.train = {2, 4}; }, "'train_idx'");
}

TEST_F(GraphTest, ADamagedManifestIsRefused) {
  for (const char* key : {"direction", "classes", "class_names", "features"})
    expect_refused([&](Json& manifest) { manifest.erase(key); }, "manifest.json");
  expect_refused([](Json& manifest) { manifest["direction"] = "up"; }, "direction 'up'");
  expect_refused([](Json& manifest) { manifest["class_names"] = {"a"}; }, "names 1 classes");
  expect_refused([](Json& manifest) { manifest["columns"].erase("indptr"); }, "'indptr'");
  expect_refused([](Json& manifest) { manifest["columns"].erase("indices"); }, "'indices'");
  expect_refused([](Json& manifest) { manifest["columns"]["y"] = manifest["columns"]["train_idx"]; },
                 "'y' has 2 rows");
  expect_refused([](Json& manifest) { manifest["columns"]["indptr"] = manifest["columns"]["y"]; }, "indptr");
}

TEST_F(GraphTest, IsTheOldOneOrTheNewWhateverFails) {
  const auto make = [](int64_t classes) {
    return [=](FileSystem& files) {
      GraphTables tables = made_up_tables();
      tables.class_names = {};
      tables.classes = classes;
      write("/place/graph", {}, tables, files);
    };
  };
  FaultTrials trials("/place/graph", make(2), make(3));
  trials.run();
}

}  // namespace
}  // namespace plimsoll
