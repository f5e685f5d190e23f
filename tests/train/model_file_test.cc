#include "train/model_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/error.h"
#include "io/file.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

DetectorModel make_detector() {
  return {std::make_unique<GATWithJK>(GATWithJKOptions{.num_ids = 20}, 5),
          {1, 2, 0x80000123},
          {1},
          {{0.01, 0.009, 1.5F}}};
}

TEST(ModelFile, RoundTripKeepsEveryBit) {
  const TempFolder folder;
  const DetectorModel saved = make_detector();
  save_model(folder / "model.safetensors", saved);
  const DetectorModel loaded = load_model(folder / "model.safetensors");
  EXPECT_EQ(loaded.model->parameters().hash(), saved.model->parameters().hash());
  EXPECT_EQ(loaded.vocabulary, saved.vocabulary);
  EXPECT_EQ(loaded.benign_ids, saved.benign_ids);
  ASSERT_EQ(loaded.thresholds.size(), 1);
  EXPECT_EQ(loaded.thresholds[0].log_odds, 1.5F);
  EXPECT_EQ(loaded.model->options().num_ids, 20);
  save_model(folder / "again.safetensors", loaded);
  EXPECT_EQ(read_text(folder / "again.safetensors"), read_text(folder / "model.safetensors"));
}

TEST(ModelFile, CarriesWhatItDoesNotSeeAndWhatBenignTrafficDoes) {
  const TempFolder folder;
  DetectorModel saved = make_detector();
  saved.without = {"id_index", "known"};
  const std::vector<double> mean = {0.5, 0.25, -1};
  const std::vector<int64_t> most = {7};
  saved.benign = std::make_shared<NamedTensors>(NamedTensors{
      {"profile.gap_mean", own_tensor<double>(mean, {3})}, {"timing.most", own_tensor<int64_t>(most, {1})}});
  save_model(folder / "model.safetensors", saved);
  const DetectorModel loaded = load_model(folder / "model.safetensors");
  EXPECT_EQ(loaded.without, saved.without);
  ASSERT_EQ(loaded.benign->size(), 2U);
  EXPECT_TRUE(std::ranges::equal(values_of<double>(*loaded.benign, "profile.gap_mean", {3}), mean));
  EXPECT_TRUE(std::ranges::equal(values_of<int64_t>(*loaded.benign, "timing.most", {-1}), most));
  save_model(folder / "again.safetensors", loaded);
  EXPECT_EQ(read_text(folder / "again.safetensors"), read_text(folder / "model.safetensors"));
}

TEST(ModelFile, DamageIsAnInputError) {
  const TempFolder folder;
  save_model(folder / "model.safetensors", make_detector());
  const std::string good = read_text(folder / "model.safetensors");
  const auto load = [&](const std::string& text) {
    std::ofstream(folder / "bad.safetensors", std::ios::binary) << text;
    return load_model(folder / "bad.safetensors");
  };
  EXPECT_THROW(load(""), InputError);
  EXPECT_THROW(load(good.substr(0, 100)), InputError);
  EXPECT_THROW(load(good.substr(0, good.size() - 1)), InputError);
  std::string renamed = good;
  renamed.replace(renamed.find("head.bias"), 4, "tail");
  EXPECT_THROW(load(renamed), InputError);
  std::string resized = good;
  resized.replace(resized.find("\\\"num_ids\\\":20"), 14, "\\\"num_ids\\\":21");
  EXPECT_THROW(load(resized), InputError);
}

}  // namespace
}  // namespace plimsoll
