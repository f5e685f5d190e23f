#include "train/model_file.h"

#include <gtest/gtest.h>

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
  EXPECT_EQ(loaded.thresholds[0].level, 1.5F);
  EXPECT_EQ(loaded.model->options().num_ids, 20);
  save_model(folder / "again.safetensors", loaded);
  EXPECT_EQ(read_text(folder / "again.safetensors"), read_text(folder / "model.safetensors"));
}

TEST(ModelFile, KeepsEveryOption) {
  const TempFolder folder;
  DetectorModel saved;
  saved.model = std::make_unique<GATWithJK>(GATWithJKOptions{.num_ids = 20,
                                                             .layers = 3,
                                                             .attention = "gatv2",
                                                             .edge_features = 5,
                                                             .jk = "lstm",
                                                             .pooling = "max"},
                                            5);
  save_model(folder / "model.safetensors", saved);
  const DetectorModel loaded = load_model(folder / "model.safetensors");
  EXPECT_EQ(loaded.model->parameters().hash(), saved.model->parameters().hash());
  EXPECT_EQ(loaded.model->options().attention, "gatv2");
  EXPECT_EQ(loaded.model->options().edge_features, 5);
  EXPECT_EQ(loaded.model->options().jk, "lstm");
  EXPECT_EQ(loaded.model->options().pooling, "max");
}

TEST(ModelFile, OptionsThatOlderFilesLackHaveTheirDefaults) {
  const TempFolder folder;
  save_model(folder / "model.safetensors", make_detector());
  std::string text = read_text(folder / "model.safetensors");
  const std::string later =
      R"(,\"attention\":\"gat\",\"edge_features\":0,\"jk\":\"cat\",\"pooling\":\"mean\")";
  ASSERT_NE(text.find(later), std::string::npos);
  text.replace(text.find(later), later.size(), "");
  // The header keeps its length with blanks behind it.
  text.insert(text.find_last_of('}', text.find("]}}") + 3) + 1, std::string(later.size(), ' '));
  std::ofstream(folder / "older.safetensors", std::ios::binary) << text;
  EXPECT_EQ(load_model(folder / "older.safetensors").model->parameters().hash(),
            make_detector().model->parameters().hash());
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
  std::string misspelt = good;
  misspelt.replace(misspelt.find("\\\"gat\\\""), 7, "\\\"gta\\\"");
  EXPECT_THROW(load(misspelt), InputError);
}

}  // namespace
}  // namespace plimsoll
