#include "can/tasks/detection_labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/errors.h"

namespace plimsoll {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Graphs with these labels.
std::vector<GraphShape> labelled(const std::vector<int32_t>& labels) {
  std::vector<GraphShape> shapes(labels.size());
  for (size_t g = 0; g < labels.size(); ++g) shapes[g].label = labels[g];
  return shapes;
}

std::string refusal(const TrainingSplit& split, const std::vector<GraphShape>& shapes) {
  return error_text<InputError>([&] { require_both_kinds(split, shapes); });
}

TEST(DetectionLabels, AttacksAreCountedAndTheRestIsBenign) {
  const auto shapes = labelled({0, 1, 0, 1, 1});
  const GraphList graphs = {0, 1, 2, 4};
  EXPECT_EQ(count_attacks(graphs, shapes), 2);
  EXPECT_EQ(benign_of(graphs, shapes), (GraphList{0, 2}));
}

TEST(DetectionLabels, BothKindsTrainAndABenignOneValidates) {
  const auto shapes = labelled({0, 1, 0, 1});
  EXPECT_NO_THROW(require_both_kinds({{0, 1}, {2, 3}}, shapes));
  EXPECT_THAT(refusal({{0, 2}, {2}}, shapes), AllOf(HasSubstr("0 of 2 training windows hold an attack"),
                                                    HasSubstr("add recordings of attacks")));
  EXPECT_THAT(refusal({{1, 3}, {2}}, shapes), AllOf(HasSubstr("2 of 2 training windows hold an attack"),
                                                    HasSubstr("add attack-free recordings")));
  EXPECT_THAT(refusal({{0, 1}, {3}}, shapes), AllOf(HasSubstr("none of the 1 validation windows is benign"),
                                                    HasSubstr("raise split.validation")));
}

TEST(DetectionLabels, AnotherLabelIsRefused) {
  EXPECT_THAT(refusal({{0, 1}, {0}}, labelled({0, 1, 2})), HasSubstr("graph 2 has the label 2"));
  EXPECT_THAT(refusal({{0, 1}, {0}}, labelled({0, -1})), HasSubstr("graph 1 has the label -1"));
}

}  // namespace
}  // namespace plimsoll
