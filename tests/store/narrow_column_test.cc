#include "store/narrow_column.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>

#include "store/graph.h"
#include "store/verify.h"
#include "support/errors.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kFeatures = 3;

class NarrowColumnTest : public testing::Test {
 protected:
  // Writes a graph of nodes without edges.
  void write(const std::vector<float>& x, const std::string& dtype) const {
    GraphWriter writer(folder_, true);
    writer.store_x(StoredAs::parse(dtype));
    writer.append_row_ends(std::vector<int64_t>(x.size() / kFeatures, 0));
    for (size_t row = 0; row < x.size(); row += kFeatures)
      writer.append_x(std::span(x).subspan(row, kFeatures), kFeatures);
    writer.publish({}, make_provenance("made up", {}));
  }
  std::vector<float> read() const {
    const GraphView graph(folder_);
    std::vector<float> x(static_cast<size_t>(graph.nodes() * kFeatures));
    graph.copy_x(0, x);
    return x;
  }
  Json manifest() const { return read_manifest(folder_); }
  void expect_stored(const std::vector<float>& x, const std::string& dtype, const std::string& type,
                     int version) const {
    write(x, dtype);
    const Json found = manifest();
    EXPECT_EQ(found["format_version"], version);
    if (version == 1)
      EXPECT_FALSE(found.contains("narrow"));
    else
      EXPECT_EQ(found["narrow"]["x"]["type"], type);
    EXPECT_EQ(name_of(GraphView(folder_).x_values().type), type);
    EXPECT_THAT(verify_data_set(folder_), IsEmpty());
  }
  void expect_exact(const std::vector<float>& x, const std::string& type,
                    const std::string& dtype = "auto") const {
    expect_stored(x, dtype, type, type == "f32" ? 1 : 2);
    const std::vector<float> found = read();
    ASSERT_EQ(found.size(), x.size());
    EXPECT_TRUE(x.empty() || std::memcmp(found.data(), x.data(), x.size() * sizeof(float)) == 0) << type;
    if (type != "f32") {
      EXPECT_EQ(manifest()["narrow"]["x"]["exact"], true);
    }
  }
  void change_manifest(const std::function<void(Json&)>& change) const {
    Json changed = manifest();
    change(changed);
    std::ofstream(folder_ / "manifest.json") << changed.dump();
  }

  TempFolder temp_;
  std::filesystem::path folder_ = temp_.path() / "graph";
};

TEST_F(NarrowColumnTest, TakesTheFewestBitsThatKeepEveryValue) {
  expect_exact({0, 1, 255, 3, 4, 5}, "u8");
  expect_exact({0, 1, -128, 3, 4, 127}, "i8");
  expect_exact({0, 1, -128, 3, 4, 128}, "f16");
  expect_exact({0, -0.F, 1, 2, 3, 4}, "f16");
  expect_exact({0.5, 0x1p-24F, 65504, 1, 2, 3}, "f16");
  expect_exact({0.5, 0x1p100F, -3, 1, 2, 3}, "bf16");
  expect_exact({0.5, 0.1F, -3, 1, 2, 3}, "f32");
  expect_exact({0, 1, 2, 3, 4, 0.1F}, "f32");  // Only the last value does not survive.
  expect_exact({}, "f32");
}

TEST_F(NarrowColumnTest, IsWhatWasAskedFor) {
  expect_exact({0, 1, 2, 3, 4, 5}, "f32", "f32");
  expect_exact({0, 1, 2, 3, 4, 5}, "bf16", "bf16");
  expect_exact({0, 1, -2, 3, 4, 5}, "i8", "i8");
  EXPECT_THAT(error_text<UsageError>([] { StoredAs::parse("f64"); }), HasSubstr("expected auto, f32"));
}

TEST_F(NarrowColumnTest, RoundsWhereThatIsAskedForAndSaysSo) {
  const std::vector<float> x = {0.1F, -2, 100, -0.05F, 1, 0, 0.0999F, 0.3F, -33};
  expect_stored(x, "f16", "f16", 2);
  EXPECT_EQ(manifest()["narrow"]["x"]["exact"], false);
  const std::vector<float> halves = read();
  float largest = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(halves[i], static_cast<float>(static_cast<_Float16>(x[i])));
    largest = std::max(largest, std::abs(halves[i] - x[i]));
  }
  EXPECT_EQ(manifest()["narrow"]["x"]["largest_error"].get<float>(), largest);

  expect_stored(x, "i8", "i8", 2);
  const std::vector<float> scaled = read();
  const std::vector<float> scale = {0.1F / 127, 2.F / 127, 100.F / 127};
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(scaled[i], std::nearbyint(x[i] / scale[i % 3]) * scale[i % 3]) << i;
}

TEST_F(NarrowColumnTest, RefusesAValueThatTheTypeHasNoRoomFor) {
  EXPECT_THAT(error_text<InputError>([&] {
                write({0, 1, 2, 3, 70000, 5}, "f16");
              }),
              HasSubstr("node 1, feature 1: 70000 does not fit in f16"));
  EXPECT_FALSE(std::filesystem::exists(folder_));
}

TEST_F(NarrowColumnTest, AManifestThatSaysSomethingElseIsRefused) {
  for (const auto& change : std::vector<std::function<void(Json&)>>{
           [](Json& manifest) { manifest["narrow"]["x"]["type"] = "bf16"; },
           [](Json& manifest) { manifest["narrow"]["x"]["type"] = 3; },
           [](Json& manifest) { manifest.erase("narrow"); },
           [](Json& manifest) {
             manifest["narrow"] = {{"x", nullptr}};
           },
           [](Json& manifest) { manifest["narrow"] = 7; },
           [](Json& manifest) { manifest["format_version"] = 3; },
           [](Json& manifest) { manifest["format_version"] = 1; }}) {
    write({0, 1, 2, 3, 4, 0.5F}, "auto");
    change_manifest(change);
    EXPECT_THAT(error_text<InputError>([&] { GraphView{folder_}; }), HasSubstr("damaged"));
  }
  write({0, 1, 2, 3, 4, 0.5F}, "auto");
  change_manifest([](Json& manifest) { manifest["format_version"] = 4; });
  EXPECT_THAT(error_text<InputError>([&] { GraphView{folder_}; }), HasSubstr("which reads 1 to 3"));
}

TEST_F(NarrowColumnTest, TheProofIsVerified) {
  write({0, 1, 2, 3, 4, 0.5F}, "auto");
  change_manifest([](Json& manifest) { manifest["narrow"]["x"]["xxh3_f32"] = "0123456789abcdef"; });
  EXPECT_THAT(verify_data_set(folder_), testing::ElementsAre(HasSubstr("as f32 its checksum is")));
}

TEST_F(NarrowColumnTest, AScaleThatDoesNotFitIsRefused) {
  write({0.1F, 1, 2, 3, 4, 0.5F}, "i8");
  NpyWriter scale(folder_ / "x_scale.npy", npy_dtype<float>(), {});
  scale.append(std::span<const float>(std::vector<float>{1, 2}));
  scale.finish();
  change_manifest([](Json& manifest) { manifest["columns"]["x_scale"]["shape"] = {2}; });
  EXPECT_THAT(error_text<InputError>([&] { GraphView{folder_}; }), HasSubstr("one for each feature of i8"));
}

}  // namespace
}  // namespace plimsoll
