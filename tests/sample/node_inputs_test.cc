#include "sample/typed/node_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "support/errors.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

// The code of the second node is only read when inputs are written, because the node is later than the cut.
TEST(NodeInputs, RefuseACodeOutsideTheVocabulary) {
  const TempFolder folder;
  const std::vector<int64_t> times = {1, 9};
  const std::vector<int8_t> codes = {0, 2};
  const std::vector<int64_t> ends = {0, 1, 2};
  DataSetWriter set(folder / "set", /*replace=*/false);
  set.column<int64_t>("at").append(std::span(times));
  set.column<int8_t>("codes").append(std::span(codes));
  set.column<int64_t>("ends").append(std::span(ends));
  set.publish({{"kind", "made up"}, {"provenance", Json::object()}});
  const Json kind = {
      {"name", "kind"}, {"meaning", "category"}, {"column", "codes"}, {"vocabulary_ptr", "ends"}};
  const Json type = {
      {"name", "orders"}, {"nodes", 2}, {"time", {{"column", "at"}}}, {"columns", Json::array({kind})}};
  const DataSetView view(folder / "set");
  const NodeInputs inputs(view, type, view.column<int64_t>("at"), {.cut = 5});
  std::vector<float> numbers(static_cast<size_t>(inputs.numbers()));
  std::vector<int32_t> written(inputs.vocabularies().size());
  inputs.write(0, 5, numbers.data(), written.data(), 1);
  EXPECT_EQ(written[0], 1);
  EXPECT_THAT(error_text<InputError>([&] { inputs.write(1, 9, numbers.data(), written.data(), 1); }),
              testing::HasSubstr("node 1: found the code 2, expected one below 2"));
}

}  // namespace
}  // namespace plimsoll
