#include "engine/fit/initial_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "nn/target_units.h"
#include "store/safetensors.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A model with one weight that learns one target.
struct Model {
  explicit Model(uint64_t seed) : parameters(seed) {
    weight = parameters.add("lin.weight", {1}, Init::normal());
    units = TargetUnits::of(parameters, 1);
  }
  void set_units(float mean, float scale) {
    units.mean.mutable_data_ptr<float>()[0] = mean;
    units.scale.mutable_data_ptr<float>()[0] = scale;
  }
  static float value(const at::Tensor& tensor) { return tensor.const_data_ptr<float>()[0]; }

  ParameterList parameters;
  at::Tensor weight;
  TargetUnits units;
};

TEST(InitialWeights, UnitsOfTargetsAreThoseOfTheDataUnlessTheFilesAreAskedFor) {
  TempFolder folder;
  Model trained(1);
  trained.set_units(5, 3);
  std::map<std::string, TensorSpan> tensors;
  for (const ParameterList::Entry& entry : trained.parameters.all())
    tensors[entry.name] = {"F32",
                           entry.value.sizes().vec(),
                           {static_cast<const std::byte*>(entry.value.const_data_ptr()), sizeof(float)}};
  write_safetensors(folder / "model.safetensors", tensors, {});

  for (const bool own_scale : {true, false}) {
    Model model(2);
    model.set_units(1000, 70);  // Mean and scale of the new data.
    const InitialWeights found = init_from(folder / "model.safetensors", model.parameters, own_scale);
    EXPECT_EQ(Model::value(model.weight), Model::value(trained.weight));
    EXPECT_EQ(Model::value(model.units.mean), own_scale ? 1000 : 5);
    EXPECT_EQ(Model::value(model.units.scale), own_scale ? 70 : 3);
    EXPECT_EQ(found.taken, own_scale ? 1 : 3);
    EXPECT_THAT(found.absent, IsEmpty());
    EXPECT_THAT(found.unused, IsEmpty());
    if (own_scale) {
      EXPECT_THAT(found.of_data, ElementsAre("target.mean", "target.scale"));
      EXPECT_THAT(in_words(found), HasSubstr("from the data, not from the file (init_target_scale)"));
    } else {
      EXPECT_THAT(found.of_data, IsEmpty());
      EXPECT_THAT(in_words(found), Not(HasSubstr("init_target_scale")));
    }
  }
}

}  // namespace
}  // namespace plimsoll
