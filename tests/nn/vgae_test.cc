#include "nn/vgae.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace plimsoll {
namespace {

constexpr const char* kLastIsLatent = "a last width equal to the latent one is dropped";

VgaeOptions large(int64_t ids) {
  return {.num_ids = ids, .embedding = 32, .hidden = {480, 240}, .latent = 48, .heads = 4, .dropout = 0.15};
}

int64_t parameters(const VgaeOptions& options) {
  return GraphAutoencoderNeighborhood(options, 0).parameters().count();
}

// Parameter counts of the published presets. Outputs and gradients are compared with PyG in tests/python.
TEST(Vgae, HasThePublishedNumberOfParameters) {
  EXPECT_EQ(parameters({}), 85'908);
  EXPECT_EQ(parameters(large(2049)), 448'320);
  EXPECT_EQ(parameters({.num_ids = 30}), 9'186);
  EXPECT_EQ(parameters(large(30)), 185'850);
  VgaeOptions listed = large(30);
  listed.hidden.push_back(48);
  EXPECT_EQ(parameters(listed), 185'850) << kLastIsLatent;
}

TEST(Vgae, WeightsFollowTheSeedAlone) {
  const auto hash = [](uint64_t seed) {
    return GraphAutoencoderNeighborhood({.num_ids = 30}, seed).parameters().hash();
  };
  EXPECT_EQ(hash(1), hash(1));
  EXPECT_NE(hash(1), hash(2));
}

TEST(Vgae, OptionsThatMakeNoModelAreUsageErrors) {
  EXPECT_THROW(parameters({.hidden = {}}), UsageError);
  EXPECT_THROW(parameters({.hidden = {16}, .latent = 16}), UsageError) << kLastIsLatent;
  EXPECT_THROW(parameters({.in_features = 1}), UsageError);
}

}  // namespace
}  // namespace plimsoll
