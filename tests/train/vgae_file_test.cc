#include "train/vgae_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "io/file.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

Autoencoder make_autoencoder() {
  return {std::make_unique<GraphAutoencoderNeighborhood>(
              VgaeOptions{.num_ids = 20, .hidden = {24, 12, 16}, .output = "tanh", .edge_features = 3}, 5),
          {1, 2, 0x80000123}};
}

TEST(VgaeFile, RoundTripKeepsEveryBit) {
  const TempFolder folder;
  const Autoencoder saved = make_autoencoder();
  save_autoencoder(folder / "model.safetensors", saved);
  const Autoencoder loaded = load_autoencoder(folder / "model.safetensors");
  EXPECT_EQ(loaded.hash(), saved.hash());
  EXPECT_EQ(loaded.vocabulary, saved.vocabulary);
  EXPECT_EQ(loaded.model->options().hidden, (std::vector<int64_t>{24, 12}));
  EXPECT_EQ(loaded.model->options().output, "tanh");
  EXPECT_EQ(loaded.model->options().edge_features, 3);
  save_autoencoder(folder / "again.safetensors", loaded);
  EXPECT_EQ(read_text(folder / "again.safetensors"), read_text(folder / "model.safetensors"));
}

TEST(VgaeFile, DamageIsAnInputError) {
  const TempFolder folder;
  save_autoencoder(folder / "model.safetensors", make_autoencoder());
  const std::string good = read_text(folder / "model.safetensors");
  const auto load = [&](const std::string& text) {
    std::ofstream(folder / "bad.safetensors", std::ios::binary) << text;
    return load_autoencoder(folder / "bad.safetensors");
  };
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    EXPECT_NE(text.find(from), std::string::npos) << from;
    return text.replace(text.find(from), from.size(), to);
  };
  EXPECT_THROW(load(""), InputError);
  EXPECT_THROW(load(good.substr(0, good.size() - 1)), InputError);
  EXPECT_THROW(load(with("graph_autoencoder_neighborhood", "graph_autoencoder_neighbourhoo")), InputError);
  EXPECT_THROW(load(with("id_head.bias", "id_tail.bias")), InputError);
  EXPECT_THROW(load(with("\\\"num_ids\\\":20", "\\\"num_ids\\\":21")), InputError);
  EXPECT_THROW(load(with("[24,12]", "[24,-1]")), InputError);
  EXPECT_THROW(load(with("[24,12]", "[     ]")), InputError);
  EXPECT_THROW(load(with("\\\"tanh\\\"", "\\\"tanH\\\"")), InputError);
}

}  // namespace
}  // namespace plimsoll
