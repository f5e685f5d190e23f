#include "can/tasks/detector_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/error.h"
#include "io/file.h"
#include "memory/ledger.h"
#include "ops/allocator.h"
#include "support/temp_folder.h"
#include "support/without_checksum.h"

namespace plimsoll {
namespace {

Detector make_gat(const GatOptions& options = {.num_ids = 20}) {
  return {
      std::make_unique<GATWithJK>(options, 5), nullptr, {{{1, 2, 0x80000123}}, {{1}}, {{0.01, 0.009, 1.5F}}}};
}

Detector make_vgae() {
  return {
      nullptr,
      std::make_unique<GraphAutoencoderNeighborhood>(
          VgaeOptions{.num_ids = 20, .hidden = {24, 12, 16}, .output = VgaeOutput::tanh, .edge_features = 3},
          5),
      {{{1, 2, 0x80000123}}, {{1}}, {{0.01, 0.009, 1.5F}}}};
}

class DetectorFile : public testing::Test {
 protected:
  Detector saved_and_loaded(const Detector& saved) {
    save_detector(folder_ / "model.safetensors", saved);
    Detector loaded = load_detector(folder_ / "model.safetensors");
    EXPECT_EQ(loaded.parameters().hash(), saved.parameters().hash());
    save_detector(folder_ / "again.safetensors", loaded);
    EXPECT_EQ(text(), read_text(folder_ / "again.safetensors"));
    return loaded;
  }
  std::string text() { return read_text(folder_ / "model.safetensors"); }
  Detector load(const std::string& text) {
    std::ofstream(folder_ / "bad.safetensors", std::ios::binary) << text;
    return load_detector(folder_ / "bad.safetensors");
  }
  std::string with(const std::string& from, const std::string& to) {
    std::string changed = without_checksum(text());
    EXPECT_NE(changed.find(from), std::string::npos) << from;
    return changed.replace(changed.find(from), from.size(), to);
  }
  TempFolder folder_;
};

TEST_F(DetectorFile, MergedChannelsKeepTheirNames) {
  Detector detector = make_gat();
  detector.facts.vocabulary = {{1, uint64_t{1} << 32 | 1}, {"power", "body"}};
  const Detector loaded = saved_and_loaded(detector);
  EXPECT_EQ(loaded.facts.vocabulary, detector.facts.vocabulary);
  EXPECT_EQ(loaded.facts.benign_ids.channels, detector.facts.vocabulary.channels);
}

TEST_F(DetectorFile, AGatKeepsEveryBit) {
  const Detector loaded = saved_and_loaded(make_gat());
  EXPECT_EQ(loaded.facts.vocabulary.keys, (MessageKeys{1, 2, 0x80000123}));
  EXPECT_EQ(loaded.facts.benign_ids.keys, MessageKeys{1});
  ASSERT_EQ(loaded.facts.thresholds.size(), 1);
  EXPECT_EQ(loaded.facts.thresholds[0].level, 1.5F);
  EXPECT_EQ(loaded.gat->options().num_ids, 20);
  EXPECT_EQ(loaded.vgae, nullptr);
}

TEST_F(DetectorFile, AGatKeepsEveryOption) {
  const Detector loaded = saved_and_loaded(make_gat({.num_ids = 20,
                                                     .layers = 3,
                                                     .attention = AttentionKind::gatv2,
                                                     .edge_features = 5,
                                                     .jk = JkMode::lstm,
                                                     .pooling = Reduce::max}));
  EXPECT_EQ(loaded.gat->options().attention, AttentionKind::gatv2);
  EXPECT_EQ(loaded.gat->options().edge_features, 5);
  EXPECT_EQ(loaded.gat->options().jk, JkMode::lstm);
  EXPECT_EQ(loaded.gat->options().pooling, Reduce::max);
}

TEST_F(DetectorFile, AnAutoencoderKeepsEveryBitAndOption) {
  const Detector loaded = saved_and_loaded(make_vgae());
  EXPECT_EQ(loaded.gat, nullptr);
  EXPECT_EQ(loaded.vgae->options().hidden, (std::vector<int64_t>{24, 12}));
  EXPECT_EQ(loaded.vgae->options().output, VgaeOutput::tanh);
  EXPECT_EQ(loaded.vgae->options().edge_features, 3);
}

TEST_F(DetectorFile, CarriesWhatItDoesNotSeeAndWhatBenignTrafficDoes) {
  Detector saved = make_gat();
  saved.facts.without = {"id_index", "known"};
  const std::vector<double> mean = {0.5, 0.25, -1};
  const std::vector<int64_t> max = {7};
  saved.facts.benign = std::make_shared<NamedTensors>(NamedTensors{
      {"profile.gap_mean", own_tensor<double>(mean, {3})}, {"timing.most", own_tensor<int64_t>(max, {1})}});
  const Detector loaded = saved_and_loaded(saved);
  EXPECT_EQ(loaded.facts.without, saved.facts.without);
  ASSERT_EQ(loaded.facts.benign->size(), 2U);
  EXPECT_TRUE(std::ranges::equal(values_of<double>(*loaded.facts.benign, "profile.gap_mean", {3}), mean));
  EXPECT_TRUE(std::ranges::equal(values_of<int64_t>(*loaded.facts.benign, "timing.most", {-1}), max));
}

TEST_F(DetectorFile, OptionsThatOlderFilesLackHaveTheirDefaults) {
  save_detector(folder_ / "model.safetensors", make_gat());
  const std::string later =
      R"(,\"attention\":\"gat\",\"edge_features\":0,\"jk\":\"cat\",\"pooling\":\"mean\")";
  std::string older = with(later, "");
  // The header keeps its length because blanks are added after it.
  older.insert(older.find("}}}") != std::string::npos ? older.find("}}}") + 3 : older.find("]}}") + 3,
               std::string(later.size(), ' '));
  EXPECT_EQ(load(older).parameters().hash(), make_gat().parameters().hash());
}

TEST_F(DetectorFile, DamageToAGatIsAnInputError) {
  save_detector(folder_ / "model.safetensors", make_gat());
  EXPECT_THROW(load(""), InputError);
  EXPECT_THROW(load(text().substr(0, 100)), InputError);
  EXPECT_THROW(load(text().substr(0, text().size() - 1)), InputError);
  EXPECT_THROW(load(with("head.bias", "tail.bias")), InputError);
  EXPECT_THROW(load(with("\\\"num_ids\\\":20", "\\\"num_ids\\\":21")), InputError);
  EXPECT_THROW(load(with("\\\"gat\\\"", "\\\"gta\\\"")), InputError);
}

TEST_F(DetectorFile, DamageToAnAutoencoderIsAnInputError) {
  save_detector(folder_ / "model.safetensors", make_vgae());
  EXPECT_THROW(load(text().substr(0, text().size() - 1)), InputError);
  EXPECT_THROW(load(with("graph_autoencoder_neighborhood", "graph_autoencoder_neighbourhoo")), InputError);
  EXPECT_THROW(load(with("id_head.bias", "id_tail.bias")), InputError);
  EXPECT_THROW(load(with("\\\"num_ids\\\":20", "\\\"num_ids\\\":21")), InputError);
  EXPECT_THROW(load(with("[24,12]", "[24,-1]")), InputError);
  EXPECT_THROW(load(with("[24,12]", "[     ]")), InputError);
  EXPECT_THROW(load(with("\\\"tanh\\\"", "\\\"tanH\\\"")), InputError);
}

TEST_F(DetectorFile, AMappedModelIsThatOfTheFileAndTakesNoMemory) {
  install_ledger_allocator();
  for (const bool gat : {true, false}) {
    const Detector saved = gat ? make_gat() : make_vgae();
    save_detector(folder_ / "model.safetensors", saved);
    const int64_t before = Ledger::process().held(Tag::parameters);
    const MappedDetector mapped = map_detector(folder_ / "model.safetensors");
    EXPECT_EQ(Ledger::process().held(Tag::parameters), before);
    EXPECT_EQ(mapped.detector.gat != nullptr, gat);
    EXPECT_EQ(mapped.detector.parameters().hash(), saved.parameters().hash());
    mapped.file->release();
    EXPECT_EQ(mapped.detector.parameters().hash(), saved.parameters().hash());
  }
}

TEST_F(DetectorFile, OfAMappedModelTensorsThatDoNotFitAreRefused) {
  save_detector(folder_ / "model.safetensors", make_gat());
  write_text(folder_ / "bad.safetensors", with("\"head.weight\"", "\"head.weighs\""));
  EXPECT_THROW(map_detector(folder_ / "bad.safetensors"), InputError);
  write_text(folder_ / "bad.safetensors", with("[20,8]", "[8,20]"));
  EXPECT_THROW(map_detector(folder_ / "bad.safetensors"), InputError);
}

}  // namespace
}  // namespace plimsoll
