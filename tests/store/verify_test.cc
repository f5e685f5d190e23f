#include "store/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "store/made_up_sets.h"
#include "support/verified_set.h"
#include "support/write_bytes.h"

namespace plimsoll {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

class VerifyGraphs : public Verify {
 protected:
  void SetUp() override { write_made_up_graphs(folder_); }
};

TEST_F(VerifyGraphs, AWholeSetHasNoFindings) {
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(VerifyGraphs, AChangedBitIsFoundInEveryColumn) {
  expect_every_column_guarded();
}

TEST_F(VerifyGraphs, AnEdgeOutsideItsGraphIsFound) {
  const auto nodes = static_cast<int32_t>(get<int64_t>("node_ptr", 1));
  for (const size_t end : {0U, 1U})
    for (const int32_t node :
         {-1, nodes, std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min()}) {
      const auto before = get<int32_t>("edges", end);
      set<int32_t>("edges", end, node);
      expect_finding("graph 0: edge 0");
      set<int32_t>("edges", end, before);
    }
}

TEST_F(VerifyGraphs, PointersThatRunBackwardsOrOutOfTheColumnsAreFound) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  for (const char* column : {"node_ptr", "edge_ptr"}) {
    const auto before = get<int64_t>(column, 5);
    for (const int64_t pointer :
         {int64_t{-1}, get<int64_t>(column, 6) + 1, get<int64_t>(column, 10) + 1, kMax, kMin}) {
      set<int64_t>(column, 5, pointer);
      EXPECT_THAT(findings(), Contains(HasSubstr("pointers run backwards or out of the columns"))) << pointer;
    }
    set<int64_t>(column, 5, before);
  }
}

TEST_F(VerifyGraphs, ValuesThatAreNotFiniteAreFound) {
  for (const char* column : {"x", "edge_attr"})
    for (const float value : {std::nanf(""), INFINITY, -INFINITY}) {
      set<float>(column, 3, value);
      expect_finding("column '" + std::string(column) + "' holds values that are not finite");
      set<float>(column, 3, 0);
    }
}

TEST_F(VerifyGraphs, AClassOfANodeBelowMinusOneIsFound) {
  const GraphColumns columns = made_up_graphs(10);
  std::vector<int64_t> classes(static_cast<size_t>(columns.node_ptr.back()), -1);
  GraphSpans spans = columns.spans();
  spans.node_y = classes;
  {
    GraphSetWriter writer(folder_, true, 3, 2);
    writer.append(spans);
    writer.publish(made_up_tables(), {});
  }
  EXPECT_THAT(findings(), IsEmpty());
  expect_every_column_guarded();
  set<int64_t>("node_y", 7, -2);
  expect_finding("node 7: node_y -2");
}

TEST_F(VerifyGraphs, GraphsWithoutRecordingsAreWhole) {
  Json manifest = read_manifest(folder_);
  manifest["recordings"] = Json::array();
  write_bytes(folder_ / "manifest.json", manifest.dump());
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(VerifyGraphs, TablesThatDoNotCoverTheGraphsOneAfterTheOtherAreFound) {
  const Json good = read_manifest(folder_);
  for (const char* table : {"splits", "recordings"}) {
    const auto expect_found = [&](size_t row, const char* key, int64_t value) {
      Json manifest = good;
      manifest[table][row][key] = value;
      write_bytes(folder_ / "manifest.json", manifest.dump());
      EXPECT_THAT(findings(), testing::Not(IsEmpty())) << table << " " << key << " " << value;
    };
    expect_found(0, "first_graph", 1);
    expect_found(1, "first_graph", 5);
    expect_found(1, "graphs", 3);
    expect_found(1, "graphs", -1);
    expect_found(1, "graphs", std::numeric_limits<int64_t>::max());
    expect_found(0, "first_graph", std::numeric_limits<int64_t>::min());
    Json manifest = good;
    manifest[table].erase(0);
    write_bytes(folder_ / "manifest.json", manifest.dump());
    EXPECT_THAT(findings(), testing::Not(IsEmpty())) << table;
  }
}

TEST_F(Verify, ASetOfAnotherKindHasItsChecksumsChecked) {
  {
    DataSetWriter writer(folder_, false);
    const std::vector<int32_t> values = {1, 2};
    writer.column<int32_t>("a").append(std::span<const int32_t>(values));
    writer.publish({{"kind", "made_up"}});
  }
  EXPECT_THAT(findings(), IsEmpty());
  flip_bit(folder_ / "a.npy", 4096);
  expect_finding("column 'a'");
}

TEST_F(Verify, WhatCannotBeOpenedIsAnInputError) {
  EXPECT_THROW(findings(), InputError);
}

}  // namespace
}  // namespace plimsoll
