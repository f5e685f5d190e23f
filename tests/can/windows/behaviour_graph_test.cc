// Tests overdue IDs: nodes of a graph whose window does not contain them.
#include "can/windows/behaviour_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "can/score/profile_statistics.h"
#include "support/behaviour_test.h"

namespace plimsoll {
namespace {

using testing::ElementsAre;

constexpr int64_t kGap = 1 << 23;
constexpr int64_t kLongest = kGap + (kGap >> 5);
constexpr uint32_t kLongId = kCanExtended | 0x12345;

// Rounds of these IDs, 1 us apart, beginning at `start` rounds.
std::vector<Frame> rounds(const std::vector<uint32_t>& ids, int start, int count) {
  std::vector<std::vector<Frame>> all;
  for (size_t i = 0; i < ids.size(); ++i)
    all.push_back(every(kGap, ids[i], count, start * kGap + static_cast<int64_t>(i) * 1000));
  return together(all);
}

class Overdue : public BehaviourTest {
 protected:
  void append(const std::vector<Frame>& frames, int64_t first) {
    const FrameBatch batch = batch_of(frames);
    const FrameSpans spans = batch.spans();
    BehaviourGraph graph(spans);
    graph.append({&recording_, first, spans.size() - first}, profile_, block_);
    ids_ = graph.node_ids();
  }
  // The silence of a node of the last graph.
  double silence(int64_t n) { return node(block_, n, "silence"); }
  static double doublings(int64_t ns) {
    return std::log2(static_cast<double>(ns) / static_cast<double>(kLongest)) / 8;
  }

  void SetUp() override { block_.clear(); }
  BehaviourProfile profile_ = learned_from(rounds({48, 16, kLongId, 32}, 0, 60));
  Recording recording_;
  GraphBlock block_;
  MessageKeys ids_;
};

TEST_F(Overdue, IdsAreNodesWithoutEdgesBehindThePresentOnes) {
  std::vector<Frame> frames = rounds({48, 16, 32, kLongId}, 0, 10);  // The last ID is heard last.
  for (const Frame& frame : rounds({48, 16}, 10, 10)) frames.push_back(frame);
  append(frames, 40);
  EXPECT_THAT(ids_, ElementsAre(48, 16, 32, kLongId));
  EXPECT_THAT(block_.node_ptr, ElementsAre(0, 4));
  EXPECT_THAT(block_.edges, ElementsAre(0, 1, 1, 0));
  EXPECT_EQ(block_.x.size(), 4U * BehaviourGraph::kNodeFeatures);
  const int64_t end = 19 * kGap + 1000;
  EXPECT_FLOAT_EQ(silence(2), doublings(end - (9 * kGap + 2000)));
  EXPECT_FLOAT_EQ(silence(3), doublings(end - (9 * kGap + 3000)));
  EXPECT_EQ(silence(0), 0);
  EXPECT_EQ(node(block_, 2, "id_index"), 1);
  EXPECT_EQ(node(block_, 3, "id_index"), 3);
  EXPECT_EQ(node(block_, 2, "extended"), 0);
  EXPECT_EQ(node(block_, 3, "extended"), 1);
  for (const std::string& name : BehaviourGraph::node_feature_names()) {
    if (name == "id_index" || name == "extended" || name == "silence") continue;
    const bool of_window = name == "window_gap" || name == "window_gap_change" || name == "window_nodes";
    for (const int64_t n : {2, 3})
      EXPECT_EQ(node(block_, n, name), of_window ? node(block_, 0, name) : name == "known") << name;
  }
  EXPECT_FLOAT_EQ(node(block_, 2, "window_nodes"), 2.0 / 20);  // This counts the nodes that are present.
  EXPECT_FLOAT_EQ(node(block_, 0, "in_degree"), 1.0 / 2);
}

TEST_F(Overdue, NodesLeaveTheGraphsOfABlockInPlace) {
  std::vector<Frame> frames = rounds({48, 16, kLongId, 32}, 0, 10);
  for (const Frame& frame : rounds({48, 16}, 10, 10)) frames.push_back(frame);
  append(frames, 40);
  append(frames, 0);
  append(frames, 40);
  EXPECT_THAT(block_.node_ptr, ElementsAre(0, 4, 8, 12));
  EXPECT_EQ(block_.edge_ptr[3] - block_.edge_ptr[2], 2);
  EXPECT_TRUE(std::equal(block_.x.begin(), block_.x.begin() + 4 * BehaviourGraph::kNodeFeatures,
                         block_.x.begin() + 8 * BehaviourGraph::kNodeFeatures));
}

TEST_F(Overdue, BeginsBehindTheLongestGap) {
  std::vector<Frame> frames = rounds({16, 32, 48, kLongId}, 0, 2);
  const int64_t heard = frames[5].time_ns;  // ID 32 is heard here.
  const auto ending_at = [&](int64_t ns) {
    std::vector<Frame> all = frames;
    for (const uint32_t id : {16U, 48U, kLongId}) all.push_back({ns, id});
    append(all, 8);
    return ids_;
  };
  EXPECT_THAT(ending_at(heard + kLongest), ElementsAre(16, 48, kLongId));
  EXPECT_THAT(ending_at(heard + kLongest + 1), ElementsAre(16, 48, kLongId, 32));
}

TEST_F(Overdue, SinceTheBeginOfTheLookBackIsWhatIsNotHeardInIt) {
  append(rounds({16, 48, kLongId}, 5, 20), 30);
  EXPECT_THAT(ids_, ElementsAre(16, 48, kLongId, 32));
  EXPECT_FLOAT_EQ(silence(3), doublings(19 * kGap + 2000));
  // The recording has more frames than the look-back: 2,000 before the last three.
  append(rounds({16, 48, kLongId}, 0, 700), 2097);
  EXPECT_FLOAT_EQ(silence(4 + 3), 1);
  append(rounds({16, 48, kLongId}, 0, 1), 0);
  EXPECT_THAT(ids_, ElementsAre(16, 48, kLongId));  // The last ID has not been heard for 2 us.
}

TEST_F(Overdue, IsNothingOlderThanTheLookBack) {
  std::vector<Frame> frames = {{-5 * kGap, 32}};
  for (const Frame& frame : every(1, 16, 2000)) frames.push_back(frame);
  frames.push_back({kGap, 48});
  append(frames, 2001);
  EXPECT_THAT(ids_, ElementsAre(48));
  append(frames, 2000);  // The window has one more frame of the ID.
  EXPECT_THAT(ids_, ElementsAre(16, 48, 32, kLongId));
}

TEST_F(Overdue, IsNothingOfAnotherVehicle) {
  // One known ID among five is another vehicle; one among four is not.
  std::vector<Frame> frames = rounds({16, 101, 102, 103, 104}, 0, 10);
  append(frames, 0);
  EXPECT_THAT(ids_, ElementsAre(16, 101, 102, 103, 104));
  append(rounds({16, 101, 102, 103}, 0, 10), 0);
  EXPECT_THAT(ids_, ElementsAre(16, 101, 102, 103, 32, 48, kLongId));
}

TEST_F(Overdue, AnAdoptedIdIsKnownAndNothingElseIsKnownOfIt) {
  const std::vector<uint32_t> joined = {101, kLongId + 1};
  const auto frames = rounds({16, 101, 102, kLongId + 1}, 0, 10);
  append(frames, 0);
  EXPECT_EQ(node(block_, 0, "known") + node(block_, 1, "known") + node(block_, 3, "known"), 1);
  profile_.adopt(joined);
  block_.clear();
  append(frames, 0);
  EXPECT_THAT(ids_, ElementsAre(16, 101, 102, kLongId + 1, 32, 48, kLongId));
  for (const int64_t n : {0, 1, 3}) EXPECT_EQ(node(block_, n, "known"), 1) << n;
  EXPECT_EQ(node(block_, 2, "known"), 0);
  EXPECT_EQ(node(block_, 1, "id_index"), 4);  // No ID of the vocabulary has this index.
  EXPECT_EQ(node(block_, 1, "early") + node(block_, 1, "gap_mean_deviation"), 0);
  for (int64_t edge_row = 0; edge_row < 4; ++edge_row)
    EXPECT_EQ(edge(block_, edge_row, "known_transition"), 1) << edge_row;
  // An adopted ID does not turn the bus into another vehicle's.
  EXPECT_EQ(profile_statistics(block_, 0, {}, false)[static_cast<size_t>(Statistic::unknown)], 0.25F);
}

TEST_F(Overdue, IsNothingWithoutTimesOrFrames) {
  recording_.has_time = false;
  append(rounds({16}, 0, 40), 0);
  EXPECT_THAT(ids_, ElementsAre(16));
  recording_.has_time = true;
  append(rounds({16}, 0, 40), 40);
  EXPECT_TRUE(ids_.empty());
  EXPECT_THAT(block_.node_ptr, ElementsAre(0, 1, 1));
}

TEST_F(Overdue, IsOnlyWhatIsExpected) {
  std::vector<Frame> frames = rounds({16, 48}, 0, 60);
  for (int i = 0; i < 60; ++i) frames.push_back({i * (i % 7) * kGap / 3, 32});  // This ID is sent on events.
  profile_ = learned_from(together({frames}));
  append(rounds({16}, 0, 40), 0);
  EXPECT_THAT(ids_, ElementsAre(16, 48));
}

}  // namespace
}  // namespace plimsoll
