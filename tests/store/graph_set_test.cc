#include "store/graph_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "store/made_up_sets.h"
#include "store/verify.h"
#include "support/errors.h"
#include "support/fault_trials.h"
#include "support/temp_folder.h"
#include "support/write_bytes.h"

namespace plimsoll {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;

class GraphSet : public testing::Test {
 protected:
  std::string refusal() const {
    const std::string error = error_text<InputError>([&] { GraphSetView view(folder_); });
    EXPECT_THAT(error, HasSubstr(folder_.string()));
    return error;
  }
  TempFolder parent_;
  std::filesystem::path folder_ = parent_ / "graphs";
};

TEST_F(GraphSet, IsReadBackAsWritten) {
  const GraphColumns columns = made_up_graphs(10);
  write_made_up_graphs(folder_, columns);
  const GraphSetView view(folder_);
  EXPECT_EQ(view.node_features(), 3);
  EXPECT_EQ(view.edge_features(), 2);
  EXPECT_EQ(view.graphs().graphs(), 10);
  EXPECT_THAT(view.graphs().node_ptr, ElementsAreArray(columns.node_ptr));
  EXPECT_THAT(view.graphs().edge_ptr, ElementsAreArray(columns.edge_ptr));
  EXPECT_THAT(view.graphs().x, ElementsAreArray(columns.x));
  EXPECT_THAT(view.graphs().edges, ElementsAreArray(columns.edges));
  EXPECT_THAT(view.graphs().edge_attr, ElementsAreArray(columns.edge_attr));
  EXPECT_THAT(view.graphs().y, ElementsAreArray(columns.y));
}

TEST_F(GraphSet, CoordinatesAreReadBackAndRaiseTheVersion) {
  const GraphColumns columns = made_up_graphs(10);
  std::vector<float> pos(static_cast<size_t>(kCoordinates * columns.node_ptr.back()));
  for (size_t i = 0; i < pos.size(); ++i) pos[i] = 0.5F * static_cast<float>(i);
  GraphSpans spans = columns.spans();
  spans.pos = pos;
  {
    GraphSetWriter writer(folder_, false, 3, 2);
    writer.append(spans);
    writer.publish(made_up_tables(), {});
  }
  {
    const GraphSetView view(folder_);
    EXPECT_THAT(view.graphs().pos, ElementsAreArray(pos));
    EXPECT_EQ(view.set().manifest()["format_version"], 2);
  }
  EXPECT_THAT(verify_data_set(folder_), IsEmpty());
  write_made_up_graphs(folder_, columns);
  EXPECT_EQ(GraphSetView(folder_).set().manifest()["format_version"], 1);
  EXPECT_THAT(GraphSetView(folder_).graphs().pos, IsEmpty());

  GraphSetWriter writer(folder_, true, 3, 2);
  writer.append(columns.spans());
  EXPECT_THAT(error_text<Failure>([&] { writer.append(spans); }), HasSubstr("pos of"));
}

TEST_F(GraphSet, ClassesOfNodesAreReadBackAsWritten) {
  const GraphColumns columns = made_up_graphs(10);
  std::vector<int64_t> classes(static_cast<size_t>(columns.node_ptr.back()));
  for (size_t i = 0; i < classes.size(); ++i) classes[i] = static_cast<int64_t>(i % 4) - 1;
  GraphSpans spans = columns.spans();
  spans.node_y = classes;
  GraphSetWriter writer(folder_, false, 3, 2);
  writer.append(spans);
  writer.append(spans);
  GraphSetTables tables = made_up_tables();
  tables.splits.back().graphs += 10;
  tables.recordings.back().graphs += 10;
  writer.publish(tables, {});
  classes.insert(classes.end(), classes.begin(), classes.end());
  EXPECT_THAT(GraphSetView(folder_).graphs().node_y, ElementsAreArray(classes));
}

TEST_F(GraphSet, OneWithoutClassesOfNodesHasNoSuchColumn) {
  write_made_up_graphs(folder_);
  const GraphSetView view(folder_);
  EXPECT_FALSE(view.set().has_column("node_y"));
  EXPECT_THAT(view.graphs().node_y, IsEmpty());
}

TEST_F(GraphSet, ClassesOfSomeNodesAreRefused) {
  const GraphColumns columns = made_up_graphs(10);
  const std::vector<int64_t> classes(static_cast<size_t>(columns.node_ptr.back()), 1);
  GraphSpans labelled = columns.spans();
  labelled.node_y = classes;
  const auto append = [&](const GraphSpans& first, const GraphSpans& second) {
    return error_text<Failure>([&] {
      GraphSetWriter writer(folder_, true, 3, 2);
      writer.append(first);
      writer.append(second);
    });
  };
  EXPECT_THAT(append(labelled, columns.spans()), HasSubstr("expected all or none"));
  EXPECT_THAT(append(columns.spans(), labelled), HasSubstr("expected all or none"));
}

TEST_F(GraphSet, ItsTablesAreReadBackAsWritten) {
  write_made_up_graphs(folder_);
  const GraphSetView view(folder_);
  const GraphSetTables& tables = view.tables();
  ASSERT_EQ(tables.splits.size(), 2U);
  EXPECT_EQ(tables.splits[1].name, "test");
  EXPECT_EQ(tables.splits[1].first_graph, 6);
  EXPECT_EQ(tables.splits[1].graphs, 4);
  ASSERT_EQ(tables.recordings.size(), 3U);
  EXPECT_FALSE(tables.recordings[0].attack);
  EXPECT_FALSE(tables.recordings[0].copy_of);
  EXPECT_EQ(tables.recordings[1].attack, "flood");
  EXPECT_EQ(tables.recordings[2].split, "test");
  EXPECT_EQ(tables.recordings[2].copy_of, "train/benign");
  EXPECT_EQ(tables.recordings[2].content, "0123");
  EXPECT_THAT(tables.node_features, ElementsAre("a", "b", "c"));
  EXPECT_THAT(tables.edge_features, ElementsAre("d", "e"));
  EXPECT_THAT(tables.vocabulary.keys, ElementsAre(0x7FF, 0x80000001));
  EXPECT_EQ(view.set().manifest()["graphs"], 10);
}

TEST_F(GraphSet, SplitsAndRecordingsThatShareOrLeaveOutGraphsAreRefused) {
  write_made_up_graphs(folder_);
  const Json good = read_manifest(folder_);
  const auto expect_refused = [&](const char* table, size_t row, const char* key, const Json& value,
                                  const char* what) {
    Json manifest = good;
    manifest[table][row][key] = value;
    write_bytes(folder_ / "manifest.json", manifest.dump());
    EXPECT_THAT(refusal(), HasSubstr(what)) << table << " " << row << " " << key;
  };
  for (const char* table : {"splits", "recordings"}) {
    const char* const last = good[table].size() == 2 ? "begins at graph 5" : "begins at graph 100000000";
    const size_t row = good[table].size() - 1;
    expect_refused(table, row, "first_graph", good[table].size() == 2 ? 5 : 100000000, last);
    expect_refused(table, 0, "graphs", 100000000, "expected to begin at 0 of 10");
    expect_refused(table, 0, "graphs", -1, "with -1 graphs");
    expect_refused(table, row, "graphs", 3, "of 10 graphs");
    expect_refused(table, 0, "first_graph", 0.25, "found 0.25, expected a whole number");
  }
  expect_refused("recordings", 2, "split", "train",
                 "recording 'copy' of split 'train' has graphs in another");
  Json manifest = good;  // A recording in two splits.
  manifest["recordings"].erase(1);
  manifest["recordings"][0]["graphs"] = 8;
  manifest["recordings"][1]["first_graph"] = 8;
  manifest["recordings"][1]["graphs"] = 2;
  write_bytes(folder_ / "manifest.json", manifest.dump());
  EXPECT_THAT(refusal(), HasSubstr("recording 'benign' of split 'train' has graphs in another split"));
}

TEST_F(GraphSet, ThePiecesInWhichGraphsAreAppendedDoNotShow) {
  const GraphColumns columns = made_up_graphs(10);
  write_made_up_graphs(folder_, columns);
  // It contains the checksum of every column.
  const std::string whole = read_bytes(folder_ / "manifest.json");
  for (const size_t piece : {1U, 3U, 9U}) {
    GraphSetWriter writer(folder_, true, 3, 2);
    writer.append(
        {std::span(columns.node_ptr).first(1), std::span(columns.edge_ptr).first(1), {}, {}, {}, {}});
    for (size_t first = 0; first < 10; first += piece) {
      const size_t count = std::min<size_t>(piece, 10 - first);
      // Pointers stay unchanged, because a view need not begin at 0.
      const GraphSpans all = columns.spans();
      const auto at = [](std::span<const int64_t> pointers, size_t i) {
        return static_cast<size_t>(pointers[i]);
      };
      const size_t node = at(all.node_ptr, first);
      const size_t nodes = at(all.node_ptr, first + count) - node;
      const size_t edge = at(all.edge_ptr, first);
      const size_t edges = at(all.edge_ptr, first + count) - edge;
      writer.append({all.node_ptr.subspan(first, count + 1), all.edge_ptr.subspan(first, count + 1),
                     all.x.subspan(3 * node, 3 * nodes), all.edges.subspan(2 * edge, 2 * edges),
                     all.edge_attr.subspan(2 * edge, 2 * edges), all.y.subspan(first, count)});
    }
    writer.publish(made_up_tables(), make_provenance("made up", {}));
    EXPECT_EQ(read_bytes(folder_ / "manifest.json"), whole) << "in pieces of " << piece;
  }
}

TEST_F(GraphSet, IsTheOldOneOrTheNewWhateverFails) {
  const auto write = [](int64_t node_id) {
    return [=](FileSystem& files) {
      GraphSetTables tables = made_up_tables();
      tables.vocabulary.keys.push_back(static_cast<uint32_t>(node_id));
      write_made_up_graphs("/place/graphs", made_up_graphs(10), tables, files);
    };
  };
  FaultTrials trials("/place/graphs", write(1), write(2));
  trials.run();
  trials.export_to(folder_);
  EXPECT_THAT(verify_data_set(folder_), IsEmpty());
}

TEST_F(GraphSet, OneWithoutGraphsOrWithoutEdgeFeaturesIsKept) {
  GraphSetWriter(folder_, true, 3, 2).publish({}, {});
  EXPECT_EQ(GraphSetView(folder_).graphs().graphs(), 0);
  const std::vector<int64_t> node_ptr = {0, 2};
  const std::vector<int64_t> edge_ptr = {0, 1};
  const std::vector<float> x = {1, 2};
  const std::vector<int32_t> edges = {0, 1};
  const std::vector<int64_t> y = {1};
  GraphSetWriter writer(folder_, true, 1, 0);
  writer.append({node_ptr, edge_ptr, x, edges, {}, y});
  GraphSetTables tables;
  tables.splits = {{"all", "", 0, 1, {}, {}}};
  writer.publish(tables, {});
  EXPECT_EQ(GraphSetView(folder_).edge_features(), 0);
}

TEST_F(GraphSet, PointersThatDoNotSpanTheColumnsAreRefused) {
  std::vector<int64_t> node_y;
  const auto expect_refused = [&](const std::function<void(GraphColumns&)>& damage,
                                  const std::string& about) {
    GraphColumns columns = made_up_graphs(10);
    damage(columns);
    // Written column by column, because the writer of graph sets computes the pointers itself.
    DataSetWriter writer(folder_, true);
    writer.column<int64_t>("node_ptr").append(columns.spans().node_ptr);
    writer.column<int64_t>("edge_ptr").append(columns.spans().edge_ptr);
    writer.column<float>("x", {3}).append(columns.spans().x);
    writer.column<int32_t>("edges", {2}).append(columns.spans().edges);
    writer.column<float>("edge_attr", {2}).append(columns.spans().edge_attr);
    writer.column<int64_t>("y").append(columns.spans().y);
    if (!node_y.empty()) writer.column<int64_t>("node_y").append(std::span<const int64_t>(node_y));
    writer.publish({{"kind", "graph_set"}});
    EXPECT_THAT(refusal(), HasSubstr(about));
  };
  expect_refused([](GraphColumns& columns) { columns.node_ptr.pop_back(); }, "one element more");
  expect_refused([](GraphColumns& columns) { columns.edge_ptr.push_back(columns.edge_ptr.back()); },
                 "one element more");
  expect_refused([](GraphColumns& columns) { columns.node_ptr.clear(); }, "one element more");
  expect_refused([](GraphColumns& columns) { columns.y.pop_back(); }, "one element more");
  expect_refused([](GraphColumns& columns) { columns.node_ptr.front() = 1; }, "node_ptr");
  expect_refused([](GraphColumns& columns) { ++columns.node_ptr.back(); }, "node_ptr");
  expect_refused([](GraphColumns& columns) { columns.node_ptr.back() = -1; }, "node_ptr");
  expect_refused([](GraphColumns& columns) { columns.edge_ptr.front() = -1; }, "edge_ptr");
  expect_refused([](GraphColumns& columns) { --columns.edge_ptr.back(); }, "edge_ptr");
  expect_refused([](GraphColumns& columns) { columns.x.resize(columns.x.size() - 3); }, "node_ptr");
  expect_refused([](GraphColumns& columns) { columns.edges.resize(columns.edges.size() - 2); }, "edge_ptr");
  expect_refused([](GraphColumns& columns) { columns.edge_attr.resize(columns.edge_attr.size() - 2); },
                 "edge_attr");
  node_y.assign(static_cast<size_t>(made_up_graphs(10).node_ptr.back()) + 1, 0);
  expect_refused([](GraphColumns&) {}, "node_y and x differ");
}

TEST_F(GraphSet, NamesThatAreNotAsManyAsColumnsAreRefused) {
  GraphSetTables tables = made_up_tables();
  tables.node_features.emplace_back("f");
  write_made_up_graphs(folder_, made_up_graphs(10), tables);
  EXPECT_THAT(refusal(), HasSubstr("features names 4 columns of x, which has 3"));
  tables = made_up_tables();
  tables.edge_features.pop_back();
  write_made_up_graphs(folder_, made_up_graphs(10), tables);
  EXPECT_THAT(refusal(), HasSubstr("features names 1 columns of edge_attr, which has 2"));
  tables.edge_features.clear();  // The caller gave no names.
  write_made_up_graphs(folder_, made_up_graphs(10), tables);
  EXPECT_NO_THROW(GraphSetView{folder_});
}

TEST_F(GraphSet, ADamagedTableIsRefused) {
  write_made_up_graphs(folder_);
  const Json good = read_manifest(folder_);
  const auto expect_refused = [&](const std::function<void(Json&)>& damage) {
    Json manifest = good;
    damage(manifest);
    write_bytes(folder_ / "manifest.json", manifest.dump());
    EXPECT_NE(refusal(), "");
  };
  for (const char* key : {"splits", "recordings", "features", "vocabulary"}) {
    expect_refused([&](Json& manifest) { manifest.erase(key); });
    expect_refused([&](Json& manifest) { manifest[key] = "?"; });
    expect_refused([&](Json& manifest) { manifest[key] = Json::array({"?"}); });
  }
  for (const char* key : {"name", "first_graph", "graphs"}) {
    expect_refused([&](Json& manifest) { manifest["splits"][0].erase(key); });
    expect_refused([&](Json& manifest) { manifest["recordings"][0][key] = Json::object(); });
  }
  expect_refused([](Json& manifest) { manifest["recordings"][0].erase("split"); });
  expect_refused([](Json& manifest) { manifest["recordings"][0]["attack"] = 7; });
}

TEST_F(GraphSet, AMissingColumnIsRefusedByName) {
  write_made_up_graphs(folder_);
  const Json good = read_manifest(folder_);
  for (const char* column : {"node_ptr", "edge_ptr", "x", "edges", "edge_attr", "y"}) {
    Json manifest = good;
    manifest["columns"].erase(column);
    write_bytes(folder_ / "manifest.json", manifest.dump());
    EXPECT_THAT(refusal(), HasSubstr("'" + std::string(column) + "'"));
  }
}

}  // namespace
}  // namespace plimsoll
