#include "ingest/tables/tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>

#include "ingest/tables/made_up_table.h"
#include "memory/ledger.h"
#include "store/graph.h"
#include "store/typed_graph.h"
#include "store/verify.h"
#include "support/errors.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kMissingTime = std::numeric_limits<int64_t>::min();

TableSpec made_up_table(const std::string& name, const std::vector<MadeUpBatch>& batches) {
  return {.name = name, .open = [batches](ArrowArrayStream& stream) { stream = made_up_stream(batches); }};
}

template <typename T>
MadeUpColumn made_up_column(const std::string& name, const std::vector<std::optional<T>>& values) {
  return made_up_numbers<T>(name, std::is_same_v<T, double> ? "g" : "l", values);
}

class Tables : public testing::Test {
 protected:
  TablesResult ingest(std::vector<TableSpec> tables, bool reverse = false) {
    const TablesOptions options{
        .tables = std::move(tables), .reverse = reverse, .out = folder_ / "graph", .force = true};
    TablesResult result = ingest_tables(options, [](int64_t) {});
    EXPECT_THAT(verify_data_set(folder_ / "graph"), IsEmpty());
    return result;
  }
  TypedGraphView graph() const { return TypedGraphView(folder_ / "graph"); }
  template <typename T>
  std::vector<T> column(const std::string& name) const {
    const TypedGraphView view = graph();
    const auto values = view.set().column<T>(name);
    return {values.begin(), values.end()};
  }
  // The entry of a column of the first node type in the manifest.
  Json entry(const std::string& name) const {
    const TypedGraphView view = graph();
    for (const Json& column : view.set().manifest()["node_types"][0]["columns"])
      if (column["name"] == name) return column;
    return {};
  }

  TempFolder folder_;
};

// Users with unsorted keys, and orders that are not sorted by time: one has no user, and the user of another
// does not exist.
std::vector<TableSpec> shop() {
  TableSpec users = made_up_table("users", {{made_up_column<int64_t>("id", {70, -3, 12}),
                                             made_up_texts("city", {"Rome", std::nullopt, "Oslo"})}});
  users.key = {"id"};
  TableSpec orders = made_up_table("orders", {{made_up_column<int64_t>("user", {12, 70, 12}),
                                               made_up_numbers<int64_t>("at", "tss:", {30, 10, 20})},
                                              {made_up_column<int64_t>("user", {std::nullopt, 5, 12}),
                                               made_up_numbers<int64_t>("at", "tss:", {40, 50, 20})}});
  orders.time = "at";
  orders.foreign_keys = {{{"user"}, "users"}};
  return {orders, users};
}

TEST_F(Tables, SortsListsByTimeThenSource) {
  const TablesResult result = ingest(shop(), /*reverse=*/true);
  EXPECT_EQ(result.dangling, 1);
  EXPECT_EQ(result.edges, 8);
  const TypedGraphView view = graph();
  const EdgeTypeView& edges = view.edge_types()[0];
  EXPECT_EQ(edges.name, "f2p_user");
  EXPECT_THAT(edges.indptr, ElementsAre(0, 1, 1, 4));
  EXPECT_THAT(edges.indices, ElementsAre(1, 2, 5, 0));
  const EdgeTypeView& reverse = view.edge_types()[1];
  EXPECT_EQ(reverse.name, "rev_f2p_user");
  EXPECT_EQ(reverse.source, "users");
  EXPECT_THAT(reverse.indptr, ElementsAre(0, 1, 2, 3, 3, 3, 4));
  EXPECT_THAT(reverse.indices, ElementsAre(2, 0, 2, 2));
  EXPECT_THAT(view.node_type("orders").time, ElementsAre(30e9, 10e9, 20e9, 40e9, 50e9, 20e9));
}

TEST_F(Tables, KeepsMissingValuesAndNumbersCategoriesByTheirTexts) {
  std::vector<TableSpec> tables = shop();
  std::swap(tables[0], tables[1]);
  ingest(tables);
  EXPECT_THAT(column<int8_t>("users.values.city"), ElementsAre(1, -1, 0));
  EXPECT_THAT(column<uint8_t>("users.valid.city"), ElementsAre(1, 0, 1));
  EXPECT_THAT(column<int64_t>("users.vocabulary_ptr.city"), ElementsAre(0, 4, 8));
  EXPECT_THAT(column<int64_t>("users.key.id"), ElementsAre(70, -3, 12));
  EXPECT_EQ(entry("city")["missing"], 1);
}

TEST_F(Tables, LeavesOutRowsWithoutTime) {
  TableSpec events =
      made_up_table("events", {{made_up_column<int64_t>("size", {1, 2, 3}),
                                made_up_numbers<int64_t>("at", "tsn:", {5, std::nullopt, 7})}});
  events.time = "at";
  const TablesResult result = ingest({events});
  EXPECT_EQ(result.rows_without_time, 1);
  EXPECT_THAT(column<int8_t>("events.values.size"), ElementsAre(1, 3));
  EXPECT_THAT(column<int64_t>("events.time"), ElementsAre(5, 7));
}

TEST_F(Tables, StoresValuesInTheNarrowestTypeThatKeepsThem) {
  ingest({made_up_table("t", {{made_up_column<int64_t>("small", {-128, 127, std::nullopt}),
                               made_up_column<int64_t>("two", {128, 0, 0}),
                               made_up_column<int64_t>("wide", {int64_t{1} << 40, 0, 0}),
                               made_up_column<double>("half", {0.5, 1, 2}),
                               made_up_column<double>("third", {1.0 / 3, 1, std::nullopt}),
                               made_up_numbers<int64_t>("when", "tsu:", {7, std::nullopt, 8})}})});
  EXPECT_THAT(column<int8_t>("t.values.small"), ElementsAre(-128, 127, 0));
  EXPECT_THAT(column<int16_t>("t.values.two"), ElementsAre(128, 0, 0));
  EXPECT_THAT(column<int64_t>("t.values.wide"), ElementsAre(int64_t{1} << 40, 0, 0));
  EXPECT_THAT(column<float>("t.values.half"), ElementsAre(0.5F, 1.0F, 2.0F));
  EXPECT_THAT(column<double>("t.values.third"),
              ElementsAre(1.0 / 3, 1.0, ::testing::NanSensitiveDoubleEq(NAN)));
  EXPECT_THAT(column<int64_t>("t.values.when"), ElementsAre(7, kMissingTime, 8));
  EXPECT_EQ(entry("when")["unit"], "us");
}

TEST_F(Tables, ReadsDictionariesRunsAndBooleans) {
  MadeUpColumn coded = made_up_numbers<int8_t>("coded", "c", {1, std::nullopt, 0, 1});
  coded.dictionary = std::make_shared<MadeUpColumn>(made_up_texts("", {"x", "a"}));
  MadeUpColumn runs{.name = "runs", .format = "+r", .length = 4, .offset = 1};
  runs.children = {made_up_numbers<int32_t>("run_ends", "i", {2, 4, 5}),
                   made_up_column<int64_t>("values", {9, 8, 7})};
  MadeUpColumn flags{.name = "flags", .format = "b", .length = 4};
  flags.buffers = {std::nullopt, std::vector<std::byte>{std::byte{0b0110}}};
  ingest({made_up_table("t", {{coded, runs, flags}})});
  EXPECT_THAT(column<int8_t>("t.values.coded"), ElementsAre(0, -1, 1, 0));
  EXPECT_THAT(column<int8_t>("t.values.runs"), ElementsAre(9, 8, 8, 7));
  EXPECT_THAT(column<uint8_t>("t.values.flags"), ElementsAre(0, 1, 1, 0));
}

TEST_F(Tables, ReadsListsAsMultiCategories) {
  MadeUpColumn lists{.name = "tags", .format = "+l", .length = 4, .offset = 1};
  const std::vector<std::optional<std::string>> items = {"x", "b", "a", "x", "b", std::nullopt, "a"};
  lists.children = {made_up_texts("item", items)};
  // The lists [b, a], missing with one item, [], [b, missing, a].
  lists.buffers = {std::vector<std::byte>{std::byte{0b11011}}, bytes_of_values<int32_t>({0, 1, 3, 4, 4, 7})};
  const MadeUpColumn times = made_up_numbers<int64_t>("at", "tsn:", {std::nullopt, 1, 2, 3});
  ingest({made_up_table("t", {{lists}})});
  EXPECT_THAT(column<int8_t>("t.values.tags"), ElementsAre(1, 0, 1, -1, 0));
  EXPECT_THAT(column<int64_t>("t.ptr.tags"), ElementsAre(0, 2, 2, 2, 5));
  EXPECT_THAT(column<uint8_t>("t.valid.tags"), ElementsAre(1, 0, 1, 1));
  EXPECT_EQ(entry("tags")["meaning"], "multi-category");
  TableSpec timed = made_up_table("t", {{lists, times}});
  timed.time = "at";
  ingest({timed});
  EXPECT_THAT(column<int8_t>("t.values.tags"), ElementsAre(1, -1, 0));
  EXPECT_THAT(column<int64_t>("t.ptr.tags"), ElementsAre(0, 0, 0, 3));
}

TEST_F(Tables, LeavesOutTextsThatHardlyOccurTwice) {
  std::vector<std::optional<std::string>> often;
  std::vector<std::optional<std::string>> seldom;
  std::vector<std::optional<std::string>> many;
  for (int row = 0; row < 70000; ++row) {
    often.emplace_back(std::to_string(row % 300));
    seldom.emplace_back(std::to_string(row % 40000));
    many.emplace_back(row % 7 == 0 ? std::nullopt : std::optional(std::to_string(row)));
  }
  TableSpec table = made_up_table(
      "t", {{made_up_texts("often", often), made_up_texts("seldom", seldom), made_up_texts("many", many)}});
  EXPECT_THAT(
      ingest({table}).left_out,
      ElementsAre(HasSubstr("t.seldom: 40000 different texts in 70000 rows"), HasSubstr("t.many: 6")));
  EXPECT_EQ(entry("often")["distinct"], 300);
  table.meanings = {{"many", "category"}};
  EXPECT_THAT(ingest({table}).left_out, ElementsAre(HasSubstr("t.seldom")));
  EXPECT_EQ(entry("many")["distinct"], 60000);
  EXPECT_EQ(graph().set().columns().at("t.values.many").shape().dtype, "<i4");
}

TEST_F(Tables, FindsKeysOfSeveralColumns) {
  TableSpec stock = made_up_table(
      "stock", {{made_up_column<int64_t>("part", {1, 1, 2}), made_up_texts("place", {"a", "b", "a"})}});
  stock.key = {"part", "place"};
  TableSpec lines = made_up_table("lines", {{made_up_column<int64_t>("p", {2, 1, 2, 1}),
                                             made_up_texts("s", {"a", "b", "b", std::nullopt})}});
  lines.foreign_keys = {{{"p", "s"}, "stock"}};
  EXPECT_EQ(ingest({stock, lines}).dangling, 1);
  const TypedGraphView view = graph();
  EXPECT_EQ(view.edge_types()[0].name, "f2p_p+s");
  EXPECT_THAT(view.edge_types()[0].indptr, ElementsAre(0, 0, 1, 2));
  EXPECT_THAT(view.edge_types()[0].indices, ElementsAre(1, 0));
}

TEST_F(Tables, FindsKeysThatCountUpFromAnyNumber) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  for (const int64_t first : {int64_t{0}, int64_t{1}, int64_t{-2}, kMin, kMax - 2}) {
    TableSpec users = made_up_table(
        "users", {{made_up_column<int64_t>("id", {first, first + 1}), made_up_column<int64_t>("age", {1, 2})},
                  {made_up_column<int64_t>("id", {first + 2}), made_up_column<int64_t>("age", {3})}});
    users.key = {"id"};
    TableSpec orders = made_up_table(
        "orders", {{made_up_column<int64_t>("user", {first + 2, first, kMin, kMax, 7, first, first + 1})}});
    orders.foreign_keys = {{{"user"}, "users"}};
    const TablesResult result = ingest({users, orders});
    const int64_t extra = first == kMin || first == kMax - 2 ? 1 : 0;
    EXPECT_EQ(result.edges, 4 + extra);
    EXPECT_EQ(result.dangling, 3 - extra);
    const TypedGraphView view = graph();
    EXPECT_EQ(view.set().has_column("users.key.id"), first != 0);
    const auto& indices = view.edge_types()[0].indices;
    if (extra == 0) {
      EXPECT_THAT(indices, ElementsAre(1, 5, 6, 0));
    }
    EXPECT_EQ(std::ranges::count(indices, 6U), 1);
  }
}

TEST_F(Tables, AllowsKeysInACycleAndToTheirOwnTable) {
  TableSpec a = made_up_table("a", {{made_up_texts("k", {"x", "y"}), made_up_column<int64_t>("to_b", {1, 0}),
                                     made_up_texts("own", {"y", "x"})}});
  a.key = {"k"};
  a.foreign_keys = {{{"to_b"}, "b"}, {{"own"}, "a"}};
  TableSpec b =
      made_up_table("b", {{made_up_column<int64_t>("k", {0, 1}), made_up_texts("to_a", {"y", "y"})}});
  b.key = {"k"};
  b.foreign_keys = {{{"to_a"}, "a"}};
  ingest({a, b});
  const TypedGraphView view = graph();
  EXPECT_THAT(view.edge_types()[0].indices, ElementsAre(1, 0));
  EXPECT_THAT(view.edge_types()[1].indices, ElementsAre(1, 0));
  EXPECT_THAT(view.edge_types()[2].indptr, ElementsAre(0, 0, 2));
}

TEST_F(Tables, RefusesADuplicateKeyWithBothRows) {
  TableSpec users = made_up_table("users", {{made_up_texts("id", {"a", "b", "c", "b"})}});
  users.key = {"id"};
  EXPECT_THAT(error_text<InputError>([&] { ingest({users}); }),
              AllOf(HasSubstr("users"), HasSubstr("rows 1 and 3")));
  TableSpec numbers = made_up_table("numbers", {{made_up_column<int64_t>("id", {0, 1, 2, 1})}});
  numbers.key = {"id"};
  EXPECT_THAT(error_text<InputError>([&] { ingest({numbers}); }),
              HasSubstr("rows 1 and 3, counted from 0, have the same key 1"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "graph"));
}

TEST_F(Tables, RefusesKeysOfOtherTypes) {
  std::vector<TableSpec> tables = shop();
  tables[1] = made_up_table("users", {{made_up_texts("id", {"70"})}});
  tables[1].key = {"id"};
  EXPECT_THAT(error_text<InputError>([&] { ingest(tables); }),
              AllOf(HasSubstr("holds integer"), HasSubstr("holds text")));
}

TEST_F(Tables, RefusesTimesBeyond64Bits) {
  TableSpec events =
      made_up_table("events", {{made_up_numbers<int64_t>("at", "tss:", {0, int64_t{1} << 62})}});
  events.time = "at";
  EXPECT_THAT(error_text<InputError>([&] { ingest({events}); }), HasSubstr("row 1"));
}

// Many rows in made-up orders, for sorts that do not fit into memory.
std::vector<TableSpec> many_rows() {
  std::vector<std::optional<std::string>> keys;
  std::vector<std::optional<std::string>> foreign;
  std::vector<std::optional<int64_t>> times;
  for (int64_t row = 0; row < 60000; ++row) {
    keys.emplace_back("key " + std::to_string(row * 7919 % 60000));
    foreign.emplace_back("key " + std::to_string(row * row % 70001));
    times.emplace_back(row * 104729 % 1000);
  }
  TableSpec users = made_up_table("users", {{made_up_texts("id", keys)}});
  users.key = {"id"};
  TableSpec events = made_up_table(
      "events", {{made_up_texts("user", foreign), made_up_numbers<int64_t>("at", "tss:", times)}});
  events.time = "at";
  events.foreign_keys = {{{"user"}, "users"}};
  return {events, users};
}

std::map<std::string, std::string> files_of(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    files[entry.path().filename()] = {std::istreambuf_iterator<char>(file), {}};
  }
  return files;
}

TEST_F(Tables, MakesTheSameBytesInAnyMemory) {
  ingest(many_rows(), /*reverse=*/true);
  const auto roomy = files_of(folder_ / "graph");
  Ledger& ledger = Ledger::process();
  ledger.set_cap(ledger.held() + (8 << 20));
  ingest(many_rows(), /*reverse=*/true);
  ledger.set_cap(Ledger::kUnlimited);
  EXPECT_TRUE(roomy == files_of(folder_ / "graph"));
}

TEST_F(Tables, RefusesBrokenArrays) {
  const auto refused = [&](MadeUpColumn column) {
    return error_text<InputError>([&] {
      ingest({made_up_table("t", {{made_up_column<int64_t>("a", {1, 2}), column}})});
    });
  };
  MadeUpColumn negative = made_up_column<int64_t>("n", {1, 2});
  negative.length = -1;
  EXPECT_THAT(refused(negative), HasSubstr("the length -1"));
  MadeUpColumn shorter = made_up_column<int64_t>("n", {1});
  EXPECT_THAT(refused(shorter), HasSubstr("fewer than its table"));
  MadeUpColumn no_buffers = made_up_column<int64_t>("n", {1, 2});
  no_buffers.buffers.clear();
  EXPECT_THAT(refused(no_buffers), HasSubstr("no buffer"));
  MadeUpColumn falls = made_up_texts("n", {"ab", "c"});
  falls.buffers[1] = bytes_of_values<int32_t>({0, 2, 1});
  EXPECT_THAT(refused(falls), HasSubstr("offsets that fall"));
  MadeUpColumn beyond = made_up_numbers<int8_t>("n", "c", {0, 7});
  beyond.dictionary = std::make_shared<MadeUpColumn>(made_up_texts("", {"x"}));
  EXPECT_THAT(refused(beyond), HasSubstr("beyond its dictionary"));
}

TEST_F(Tables, RefusesTwoColumnsOfOneName) {
  EXPECT_THAT(error_text<InputError>([&] {
                ingest({made_up_table(
                    "t", {{made_up_column<int64_t>("a", {1}), made_up_column<int64_t>("a", {1})}})});
              }),
              HasSubstr("two columns are named 'a'"));
}

TEST_F(Tables, TakesTablesWithoutRows) {
  std::vector<TableSpec> tables = shop();
  tables[1] = made_up_table("users", {{made_up_column<int64_t>("id", {})}});
  tables[1].key = {"id"};
  EXPECT_EQ(ingest(tables).dangling, 5);
}

TEST_F(Tables, GraphsOfOneTypeAreAnotherView) {
  ingest(shop());
  EXPECT_THAT(error_text<InputError>([&] { GraphView(folder_ / "graph"); }), HasSubstr("node types"));
}

TEST_F(Tables, VerifyFindsListsOutOfOrder) {
  ingest(shop());
  const std::filesystem::path file = folder_ / "graph" / "orders.f2p_user.users.indices.npy";
  std::fstream indices(file, std::ios::binary | std::ios::in | std::ios::out);
  const uint32_t sources[] = {1, 0, 5, 2};
  indices.seekp(4096);
  indices.write(reinterpret_cast<const char*>(sources), sizeof sources);
  indices.close();
  std::vector<std::string> wrong;
  verify_typed_graph(folder_ / "graph", wrong);
  EXPECT_THAT(wrong, ElementsAre(HasSubstr("edge 2 is not in the order of time and source")));
}

}  // namespace
}  // namespace plimsoll
