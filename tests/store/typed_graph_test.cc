#include "store/typed_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "io/file.h"
#include "store/verify.h"
#include "support/errors.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Three orders with times, one category and edges to two users.
class TypedGraph : public testing::Test {
 protected:
  TypedGraph() {
    DataSetWriter set(folder_ / "graph", /*replace=*/false);
    const auto write = [&]<typename T>(const std::string& name, std::vector<T> values) {
      set.column<T>(name).append(std::span<const T>(values));
    };
    write("orders.time", std::vector<int64_t>{5, 3, 5});
    write("orders.values.kind", std::vector<int8_t>{0, -1, 1});
    write("orders.valid.kind", std::vector<uint8_t>{1, 0, 1});
    write("orders.vocabulary.kind", std::vector<uint8_t>{'a', 'b'});
    write("orders.vocabulary_ptr.kind", std::vector<int64_t>{0, 1, 2});
    write("e.indptr", std::vector<int64_t>{0, 3, 3});
    write("e.indices", std::vector<uint32_t>{1, 0, 2});
    write("not.of.the.graph", std::vector<int64_t>{1});
    set.finish("e.indices");
    set.discard("not.of.the.graph");
    const Json kind = {{"name", "kind"},
                       {"meaning", "category"},
                       {"column", "orders.values.kind"},
                       {"missing", 1},
                       {"valid", "orders.valid.kind"},
                       {"vocabulary", "orders.vocabulary.kind"},
                       {"vocabulary_ptr", "orders.vocabulary_ptr.kind"}};
    const Json time = {{"name", "at"}, {"column", "orders.time"}};
    Json manifest = {{"kind", "graph"}, {"format_version", 0}, {"columns", Json::object()}};
    manifest["node_types"] = {{{"name", "orders"}, {"nodes", 3}, {"time", time}, {"columns", {kind}}},
                              {{"name", "users"}, {"nodes", 2}, {"columns", Json::array()}}};
    manifest["edge_types"] = {{{"source", "orders"},
                               {"name", "f2p_user"},
                               {"target", "users"},
                               {"indptr", "e.indptr"},
                               {"indices", "e.indices"},
                               {"time", "source"},
                               {"columns", Json::array()}}};
    set.publish(std::move(manifest), kTypedGraphVersion);
  }

  // Returns the error of opening, or what verify finds, after a change of the manifest.
  std::string wrong_after(const std::function<void(Json&)>& change) {
    Json manifest = Json::parse(read_text(folder_ / "graph" / "manifest.json"));
    change(manifest);
    write_text(folder_ / "graph" / "manifest.json", manifest.dump());
    const std::vector<std::string> wrong = verify_data_set(folder_ / "graph");
    return wrong.empty() ? "" : wrong[0];
  }

  TempFolder folder_;
};

TEST_F(TypedGraph, IsReadAsItWasWritten) {
  EXPECT_THAT(verify_data_set(folder_ / "graph"), IsEmpty());
  const TypedGraphView graph(folder_ / "graph");
  EXPECT_EQ(graph.node_types()[1].nodes, 2);
  EXPECT_THAT(graph.node_type("orders").time, ElementsAre(5, 3, 5));
  EXPECT_THAT(graph.edge_types()[0].indices, ElementsAre(1, 0, 2));
  EXPECT_FALSE(graph.set().has_column("not.of.the.graph"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "graph" / "not.of.the.graph.npy"));
}

TEST_F(TypedGraph, NamesOfColumnsDifferIfTheirPartsDo) {
  EXPECT_EQ(typed_column({"users", "values", "age"}), "users.values.age");
  EXPECT_EQ(typed_column({"a.b", "c/d %"}), "a%2Eb.c%2Fd%20%25");
  EXPECT_THAT(error_text<InputError>([] { typed_column({std::string(300, 'a')}); }), HasSubstr("300 bytes"));
}

TEST_F(TypedGraph, VerifyComparesTheNumbersOfMissingValues) {
  EXPECT_THAT(wrong_after([](Json& manifest) { manifest["node_types"][0]["columns"][0]["missing"] = 2; }),
              HasSubstr("1 values are missing, the manifest says 2"));
}

TEST_F(TypedGraph, AManifestThatDoesNotAgreeIsRefused) {
  const std::string whole = read_text(folder_ / "graph" / "manifest.json");
  const auto node = [](Json& manifest) -> Json& { return manifest["node_types"][0]; };
  const auto edge = [](Json& manifest) -> Json& { return manifest["edge_types"][0]; };
  for (const auto& [change, words] : std::vector<std::pair<std::function<void(Json&)>, std::string>>{
           {[&](Json& manifest) { manifest["node_types"] = 3; }, "node_types is no list"},
           {[&](Json& manifest) { manifest.erase("edge_types"); }, "edge_types is no list"},
           {[&](Json& manifest) { node(manifest)["name"] = 3; }, "node_types[0] has no text \"name\""},
           {[&](Json& manifest) { node(manifest)["nodes"] = -1; }, "node_types[0] has no number \"nodes\""},
           {[&](Json& manifest) { node(manifest)["nodes"] = 4; },
            "column 'orders.values.kind' has 3 rows, expected 4"},
           {[&](Json& manifest) { node(manifest)["columns"] = "kind"; }, "node_types[0].columns is no list"},
           {[&](Json& manifest) { node(manifest)["columns"][0] = 7; },
            "node_types[0].columns[0] is no object"},
           {[&](Json& manifest) { node(manifest)["columns"][0]["column"] = "none"; }, "no column 'none'"},
           {[&](Json& manifest) { node(manifest)["time"]["column"] = "e.indices"; }, "e.indices"},
           {[&](Json& manifest) { node(manifest)["key"] = 3; }, "node_types[0].key is no list"},
           {[&](Json& manifest) {
              node(manifest)["key"] = {{{"name", "id"}, {"column", "none"}}};
            },
            "no column 'none'"},
           {[&](Json& manifest) {
              node(manifest)["key"] = {{{"name", "id"}, {"column", "e.indices"}}};
            },
            "e.indices"},
           {[&](Json& manifest) {
              node(manifest)["key"] = {{{"name", "id"}, {"column", "e.indices"}, {"ptr", "e.indptr"}}};
            },
            "column 'e.indptr' has 3 rows, expected 4"},
           {[&](Json& manifest) { edge(manifest)["target"] = "nobody"; }, "no node type 'nobody'"},
           {[&](Json& manifest) { edge(manifest)["target"] = "orders"; },
            "column 'e.indptr' has 3 rows, expected 4"},
           {[&](Json& manifest) { edge(manifest)["time"] = 1; }, "edge_types[0] has no text \"time\""}}) {
    write_text(folder_ / "graph" / "manifest.json", whole);
    EXPECT_THAT(wrong_after(change), HasSubstr(words));
  }
}

}  // namespace
}  // namespace plimsoll
