#include "store/data_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "support/errors.h"
#include "support/fault_trials.h"
#include "support/ledger_cap.h"
#include "support/names_in.h"
#include "support/temp_folder.h"
#include "support/write_bytes.h"

namespace plimsoll {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::vector<int32_t> kValues = {1, 2, 3, 4};

class DataSet : public testing::Test {
 protected:
  static void fill(DataSetWriter& writer, int32_t first = 1) {
    std::vector<int32_t> values = kValues;
    values[0] = first;
    writer.column<int32_t>("pairs", {2}).append(std::span<const int32_t>(values));
    writer.column<int32_t>("single").append(std::span<const int32_t>(values));
  }
  void publish(bool replace = false, int32_t first = 1) const {
    DataSetWriter writer(folder_, replace);
    fill(writer, first);
    writer.publish({{"kind", "made_up"}, {"provenance", make_provenance("source", first)}});
  }
  int32_t first_value() const { return DataSetView(folder_).column<int32_t>("single")[0]; }

  TempFolder parent_;
  std::filesystem::path folder_ = parent_ / "set";
};

TEST_F(DataSet, IsReadBackAsWritten) {
  publish();
  const DataSetView view(folder_, "made_up");
  EXPECT_EQ(view.kind(), "made_up");
  EXPECT_TRUE(view.has_column("pairs"));
  EXPECT_FALSE(view.has_column("missing"));
  EXPECT_THAT(view.column<int32_t>("pairs", {2}), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(view.column<int32_t>("single"), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(names_in(folder_), ElementsAre("manifest.json", "pairs.npy", "single.npy"));
}

TEST_F(DataSet, TheManifestSaysWhatEachColumnIs) {
  publish();
  const Json manifest = read_manifest(folder_);
  EXPECT_EQ(manifest["format_version"], 1);
  const Json& pairs = manifest["columns"]["pairs"];
  EXPECT_EQ(pairs["file"], "pairs.npy");
  EXPECT_EQ(pairs["dtype"], "<i4");
  EXPECT_EQ(pairs["shape"], Json({2, 2}));
  EXPECT_EQ(pairs["xxh3"].get<std::string>().size(), 16U);
  EXPECT_EQ(pairs["xxh3"], manifest["columns"]["single"]["xxh3"]) << "of the data bytes alone";
}

TEST_F(DataSet, EqualContentGivesEqualBytes) {
  publish();
  const std::string manifest = read_bytes(folder_ / "manifest.json");
  const std::string column = read_bytes(folder_ / "pairs.npy");
  publish(true);
  EXPECT_EQ(read_bytes(folder_ / "manifest.json"), manifest);
  EXPECT_EQ(read_bytes(folder_ / "pairs.npy"), column);
}

TEST_F(DataSet, NothingIsThereBeforeItIsPublishedAndNothingIsLeftWithoutIt) {
  {
    DataSetWriter writer(folder_, false);
    fill(writer);
    EXPECT_FALSE(std::filesystem::exists(folder_));
  }
  EXPECT_THAT(names_in(parent_.path()), IsEmpty());
}

TEST_F(DataSet, AnExceptionLeavesNothing) {
  const auto interrupted = [&] {
    DataSetWriter writer(folder_, true);
    fill(writer);
    throw Failure("on the way");
  };
  EXPECT_THROW(interrupted(), Failure);
  EXPECT_THAT(names_in(parent_.path()), IsEmpty());
  publish();
  EXPECT_THROW(interrupted(), Failure);
  EXPECT_THAT(names_in(parent_.path()), ElementsAre("set"));
  EXPECT_EQ(first_value(), 1);
}

TEST_F(DataSet, ARefusalOfTheBudgetLeavesNothing) {
  const LedgerCap cap(300 * 1024);  // Enough for the buffer of one column, not of two.
  EXPECT_THROW(publish(), BudgetExceeded);
  EXPECT_THAT(names_in(parent_.path()), IsEmpty());
  EXPECT_EQ(Ledger::process().held(), 0);
}

TEST_F(DataSet, WhatAnEarlierRunLeftUnderTheTemporaryNameIsNoPartOfIt) {
  std::string left;
  {
    const DataSetWriter writer(folder_, false);
    left = names_in(parent_.path()).at(0);
  }
  std::filesystem::create_directories(parent_ / left);
  write_bytes(parent_ / left / "old.npy", "old");
  publish();
  EXPECT_THAT(names_in(parent_.path()), ElementsAre("set")) << "nobody has its lock: it goes";
  EXPECT_THAT(names_in(folder_), ElementsAre("manifest.json", "pairs.npy", "single.npy"));
}

TEST_F(DataSet, TwoWritersOfOneOutputDoNotMix) {
  DataSetWriter first(folder_, false);
  DataSetWriter second(folder_, false);
  fill(first, 1);
  fill(second, 2);
  second.publish({{"kind", "made_up"}});
  EXPECT_THAT(error_text<Failure>([&] { first.publish({{"kind", "made_up"}}); }), HasSubstr("--force"));
  EXPECT_EQ(first_value(), 2);
}

TEST_F(DataSet, IsTheOldOneOrTheNewWhateverFails) {
  const auto write = [](int32_t first) {
    return [=](FileSystem& files) {
      DataSetWriter writer("/place/set", true, files);
      fill(writer, first);
      writer.publish({{"kind", "made_up"}, {"provenance", make_provenance("source", first)}});
    };
  };
  FaultTrials(
      "/place/set", [](FileSystem&) {}, write(1))
      .run();
  FaultTrials trials("/place/set", write(2), write(1));
  trials.run();
  trials.export_to(folder_);
  EXPECT_EQ(first_value(), 1);
}

TEST_F(DataSet, NothingIsLeftOnTheDiskWhateverFails) {
  publish();
  const auto write = [&](FileSystem& files) {
    DataSetWriter writer(folder_, true, files);
    fill(writer, 9);
    writer.publish({{"kind", "made_up"}});
  };
  for (int at = 0;; ++at) {
    FaultyFiles files(FileSystem::disk(), {Fault::error, at, EIO});
    EXPECT_THROW(write(files), Failure) << "call " << at;
    // The last call removes the old set.
    if (files.struck().empty() || files.struck() == "remove_tree") break;
    ASSERT_THAT(names_in(parent_.path()), ElementsAre("set")) << files.struck() << ", call " << at;
    ASSERT_EQ(first_value(), 1);
  }
  EXPECT_EQ(first_value(), 9);
}

TEST_F(DataSet, AnExistingOutputIsKeptUnlessItIsToBeReplaced) {
  publish();
  EXPECT_THAT(error_text<Failure>([&] { publish(false, 9); }), HasSubstr("--force"));
  EXPECT_EQ(first_value(), 1);
  EXPECT_THAT(names_in(parent_.path()), ElementsAre("set"));
}

TEST_F(DataSet, ReplacingExchangesAndDeletesTheOldOne) {
  {
    DataSetWriter old(folder_, false);
    fill(old);
    old.column<int32_t>("old").append(std::span<const int32_t>(kValues));
    old.publish({{"kind", "walks"}});
  }
  const DataSetView open(folder_);
  publish(true, 9);
  EXPECT_EQ(first_value(), 9);
  EXPECT_THAT(names_in(parent_.path()), ElementsAre("set"));
  EXPECT_THAT(names_in(folder_), ElementsAre("manifest.json", "pairs.npy", "single.npy"));
  EXPECT_EQ(open.column<int32_t>("single")[0], 1) << "who has it open keeps reading the old one";
}

TEST_F(DataSet, ReplacingWhatIsNotThereWrites) {
  publish(true, 3);
  EXPECT_EQ(first_value(), 3);
}

TEST_F(DataSet, ASlashAtTheEndOfTheNameIsNothing) {
  DataSetWriter writer(folder_.string() + "/", false);
  fill(writer);
  writer.publish({{"kind", "made_up"}});
  EXPECT_THAT(names_in(parent_.path()), ElementsAre("set"));
}

TEST_F(DataSet, AnOutputThatCannotBeMadeIsAFailureThatNamesIt) {
  write_bytes(parent_ / "file", "no folder");
  const auto impossible = parent_ / "file" / "set";
  EXPECT_THAT(error_text<Failure>([&] { DataSetWriter writer(impossible, false); }),
              HasSubstr(impossible.parent_path().string()));
}

TEST_F(DataSet, ANameThatIsNotUtf8IsAnInputErrorAndLeavesNothing) {
  {
    DataSetWriter writer(folder_, false);
    fill(writer);
    EXPECT_THAT(error_text<InputError>([&] { writer.publish({{"kind", "caf\xe9"}}); }), HasSubstr("UTF-8"));
  }
  EXPECT_THAT(names_in(parent_.path()), IsEmpty());
}

TEST_F(DataSet, FindExistingTellsSameFromOther) {
  const Json same = make_provenance("source", 1);
  EXPECT_EQ(find_existing(folder_, same), Existing::none);
  publish();
  EXPECT_EQ(find_existing(folder_, same), Existing::same);
  EXPECT_EQ(find_existing(folder_, make_provenance("source", 2)), Existing::other);
  EXPECT_EQ(find_existing(folder_, make_provenance("elsewhere", 1)), Existing::other);
  EXPECT_EQ(find_existing(folder_, Json()), Existing::other);
  EXPECT_EQ(find_existing(parent_.path(), same), Existing::other) << "a folder that is no data set";
  write_bytes(folder_ / "manifest.json", "{}");
  EXPECT_EQ(find_existing(folder_, same), Existing::other) << "a damaged data set";
}

TEST_F(DataSet, ThePartsOfTheProvenanceAreNamed) {
  const Json provenance = make_provenance(Json::array({"a"}), {{"window", 100}});
  EXPECT_EQ(provenance.dump(), R"({"tool":"plimsoll 0.1.0","sources":["a"],"options":{"window":100}})");
}

TEST_F(DataSet, AnotherKindColumnTypeOrShapeIsRefused) {
  publish();
  EXPECT_THAT(error_text<InputError>([&] { DataSetView view(folder_, "frames"); }),
              HasSubstr("'made_up', expected 'frames'"));
  const DataSetView view(folder_);
  EXPECT_THAT(error_text<InputError>([&] { view.column<int32_t>("missing"); }), HasSubstr("'missing'"));
  EXPECT_THROW(view.column<float>("single"), InputError);
  EXPECT_THROW(view.column<int32_t>("single", {2}), InputError);
  EXPECT_THROW(view.column<int32_t>("pairs"), InputError);
  EXPECT_THROW(view.column<int32_t>("pairs", {3}), InputError);
}

TEST_F(DataSet, AFolderWithoutAManifestIsNoDataSet) {
  EXPECT_THAT(error_text<InputError>([&] { DataSetView view(parent_.path()); }),
              HasSubstr(parent_.path().string() + ": not a data set"));
  EXPECT_THROW(read_manifest(folder_), InputError);
}

// Publishes a set, changes its manifest, and expects an error that names the folder.
class DamagedManifest : public DataSet {
 protected:
  void expect_refused(const std::string& text) const {
    write_bytes(folder_ / "manifest.json", text);
    EXPECT_THAT(error_text<InputError>([&] { DataSetView view(folder_); }), HasSubstr(folder_.string()))
        << text.substr(0, 200);
  }
  void expect_refused(const std::function<void(Json&)>& damage) const {
    Json manifest = Json::parse(good_);
    damage(manifest);
    expect_refused(manifest.dump());
  }
  void SetUp() override {
    publish();
    good_ = read_bytes(folder_ / "manifest.json");
  }
  std::string good_;
};

TEST_F(DamagedManifest, TextThatIsNoManifestIsRefused) {
  for (const char* text : {"", "null", "[]", "7", "\"text\"", "{", "{}", "not JSON", "\xff\xfe{}"})
    expect_refused(text);
  expect_refused(std::string(100'000, '['));
  for (size_t size = 0; size + 3 < good_.size(); size += 11) expect_refused(good_.substr(0, size));
}

TEST_F(DamagedManifest, MissingAndMistypedFieldsAreRefused) {
  for (const char* key : {"kind", "format_version", "columns"}) {
    expect_refused([&](Json& manifest) { manifest.erase(key); });
    for (const Json& value : {Json(), Json(true), Json("?"), Json(1.5), Json::array({1})}) {
      if (std::string(key) == "kind" && value.is_string()) continue;
      expect_refused([&](Json& manifest) { manifest[key] = value; });
    }
  }
}

TEST_F(DamagedManifest, AnotherFormatVersionIsRefusedAndNamed) {
  for (const int64_t version : {0, 2, -1})
    expect_refused([&](Json& manifest) { manifest["format_version"] = version; });
  Json manifest = Json::parse(good_);
  manifest["format_version"] = 2;
  write_bytes(folder_ / "manifest.json", manifest.dump());
  EXPECT_THAT(error_text<InputError>([&] { DataSetView view(folder_); }), HasSubstr("version 2"));
}

TEST_F(DamagedManifest, ColumnsThatAreNotWhatItSaysAreRefused) {
  for (const Json& entry : {Json(), Json(1), Json("pairs.npy"), Json::object(), Json::array()})
    expect_refused([&](Json& manifest) { manifest["columns"]["pairs"] = entry; });
  const auto set = [&](const char* key, const Json& value) {
    expect_refused([&](Json& manifest) { manifest["columns"]["pairs"][key] = value; });
  };
  set("dtype", "<f4");
  set("dtype", 4);
  set("dtype", Json());
  set("shape", {4, 2});
  set("shape", {4});
  set("shape", "2, 2");
  set("shape", Json());
}

TEST_F(DamagedManifest, FilesOutsideTheFolderAndMissingOnesAreRefused) {
  for (const Json& file : {Json(), Json(""), Json(7), Json("../set/pairs.npy"), Json("/etc/hostname"),
                           Json("."), Json(".."), Json("missing.npy"), Json("manifest.json")})
    expect_refused([&](Json& manifest) { manifest["columns"]["pairs"]["file"] = file; });
}

TEST_F(DamagedManifest, AColumnThatIsDamagedIsRefused) {
  std::filesystem::resize_file(folder_ / "pairs.npy", 4096 + 15);
  expect_refused(good_);
  std::filesystem::resize_file(folder_ / "pairs.npy", 0);
  expect_refused(good_);
}

}  // namespace
}  // namespace plimsoll
