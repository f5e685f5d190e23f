#include "store/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "store/made_up_sets.h"
#include "support/errors.h"
#include "support/temp_folder.h"
#include "support/write_bytes.h"

namespace plimsoll {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

class Verify : public testing::Test {
 protected:
  // Changes one element of a column, and the checksum in the manifest so that it alone does not tell.
  template <typename T>
  void set(const std::string& column, size_t index, T value) const {
    const auto path = folder_ / (column + ".npy");
    std::string bytes = read_bytes(path);
    bytes.replace(4096 + index * sizeof(T), sizeof(T), reinterpret_cast<const char*>(&value), sizeof(T));
    write_bytes(path, bytes);
    Hasher hasher;
    hasher.add(bytes.data() + 4096, bytes.size() - 4096);
    Json manifest = read_manifest(folder_);
    manifest["columns"][column]["xxh3"] = hasher.hex64();
    write_bytes(folder_ / "manifest.json", manifest.dump());
  }
  template <typename T>
  T get(const std::string& column, size_t index) const {
    T value;
    std::memcpy(&value, read_bytes(folder_ / (column + ".npy")).data() + 4096 + index * sizeof(T), sizeof(T));
    return value;
  }
  std::vector<std::string> findings() const { return verify_data_set(folder_); }
  void expect_finding(const std::string& part) const { EXPECT_THAT(findings(), Contains(HasSubstr(part))); }

  void expect_every_column_guarded() const {
    const DataSetView set(folder_);
    for (const auto& [name, view] : set.columns()) {
      const auto path = folder_ / (name + ".npy");
      const size_t size = std::filesystem::file_size(path);
      for (const size_t at : {size_t{4096}, size - 1}) {
        flip_bit(path, at, 1);
        try {
          expect_finding("column '" + name + "': its checksum");
        } catch (const InputError&) {  // first and last pointers are looked at when a set is opened
          EXPECT_THAT(name, HasSubstr("_ptr"));
        }
        flip_bit(path, at, 1);
      }
    }
    EXPECT_THAT(findings(), IsEmpty());
  }

  TempFolder parent_;
  std::filesystem::path folder_ = parent_ / "set";
};

class VerifyFrames : public Verify {
 protected:
  void SetUp() override { write_made_up_frames(folder_); }
};

class VerifyGraphs : public Verify {
 protected:
  void SetUp() override { write_made_up_graphs(folder_); }
};

TEST_F(VerifyFrames, AWholeSetHasNoFindings) {
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(VerifyFrames, AChangedBitIsFoundInEveryColumn) {
  expect_every_column_guarded();
}

TEST_F(VerifyFrames, AMissingChecksumIsFound) {
  Json manifest = read_manifest(folder_);
  manifest["columns"]["label"].erase("xxh3");
  write_bytes(folder_ / "manifest.json", manifest.dump());
  expect_finding("column 'label'");
}

TEST_F(VerifyFrames, ALabelThatIsNoLabelIsFound) {
  set<uint8_t>("label", 7, 2);
  expect_finding("frame 7: label 2");
}

TEST_F(VerifyFrames, UnlabelledFramesAreFine) {
  set<uint8_t>("label", 7, kUnlabelled);
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(VerifyFrames, ALengthOverThePayloadIsFound) {
  set<uint8_t>("length", 99, 9);
  expect_finding("frame 99: length 9");
}

TEST_F(VerifyFrames, BytesBehindTheLengthAreFound) {
  set<uint8_t>("length", 20, 3);
  set<uint8_t>("data", 20 * 8 + 2, 1);
  for (size_t byte = 3; byte < 8; ++byte) set<uint8_t>("data", 20 * 8 + byte, 0);
  EXPECT_THAT(findings(), IsEmpty());
  set<uint8_t>("data", 20 * 8 + 3, 1);
  expect_finding("frame 20: bytes after its length of 3");
}

TEST_F(VerifyFrames, AnIdThatIsTooLongForItsFlagIsFound) {
  set<uint32_t>("can_id", 5, 0x7FF | kCanRemote);
  EXPECT_THAT(findings(), IsEmpty());
  set<uint32_t>("can_id", 5, 0x800);
  expect_finding("frame 5: ID 800");
  set<uint32_t>("can_id", 5, 0x800 | kCanExtended);
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(VerifyFrames, AnErrorFrameHasItsClassesForAnId) {
  set<uint32_t>("can_id", 1, kCanError | 0x1000);
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(VerifyFrames, AWrongCountOfAttackFramesIsFound) {
  ASSERT_EQ(get<uint8_t>("label", 60), 0);
  set<uint8_t>("label", 60, 1);
  expect_finding("recording train/second");
}

TEST_F(VerifyFrames, ManyFindingsAreCutShort) {
  for (size_t i = 0; i < 100; ++i) set<uint8_t>("label", i, 9);
  EXPECT_LT(findings().size(), 30U);
}

TEST_F(VerifyFrames, TheFirstFindingIsAnErrorForWhoReadsThemAll) {
  require_sound(FramesView(folder_));
  set<uint8_t>("label", 70, 9);
  set<uint8_t>("length", 60, 9);
  const std::string error = error_text<InputError>([&] { require_sound(FramesView(folder_)); });
  EXPECT_THAT(error, HasSubstr(folder_.string() + ": frame 60: length 9"));
  set<uint8_t>("length", 60, 8);
  set<uint8_t>("label", 70, 1);
  EXPECT_THAT(error_text<InputError>([&] { require_sound(FramesView(folder_)); }),
              HasSubstr("recording train/second"));
}

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
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  for (const char* column : {"node_ptr", "edge_ptr"}) {
    const auto before = get<int64_t>(column, 5);
    for (const int64_t pointer :
         {int64_t{-1}, get<int64_t>(column, 6) + 1, get<int64_t>(column, 10) + 1, kMost, kLeast}) {
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
