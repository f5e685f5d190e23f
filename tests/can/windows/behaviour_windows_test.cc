#include "can/windows/behaviour_windows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

#include "base/error.h"
#include "io/file.h"
#include "support/behaviour_test.h"

namespace plimsoll {
namespace {

// A bus on which ten IDs send every 10 ms or slower, each with its own length and its own counter.
std::vector<Frame> bus(int count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Frame> frames;
  int64_t time = 5000 * kMs;
  for (int i = 0; i < count; ++i) {
    time += 700'000 + random() % 600'000;
    const uint32_t id = 16 * (random() % 4 == 0 ? random() % 10 : static_cast<uint32_t>(i) % 5);
    std::vector<uint8_t> payload(id / 16 % 9);
    for (uint8_t& byte : payload) byte = static_cast<uint8_t>(random() % 4 == 0 ? random() : 7);
    frames.push_back({time, id, std::move(payload)});
  }
  return frames;
}

std::vector<Frame> with_attack(std::vector<Frame> frames) {
  std::vector<Frame> result;
  for (size_t i = 0; i < frames.size(); ++i) {
    result.push_back(frames[i]);
    if (i % 3 == 1) result.push_back({frames[i].time_ns + 10, i % 2 == 0 ? 0x7FFU : 16U, {255, 255}, 1});
  }
  return result;
}

class Behaviour : public BehaviourTest {
 protected:
  static WindowOptions frames_each(int64_t window, int64_t stride) {
    return {WindowFeatures::behaviour, window, stride};
  }
  static WindowOptions time_each(int64_t window_ns, int64_t stride_ns) {
    return {WindowFeatures::behaviour, window_ns, stride_ns, WindowUnit::nanoseconds};
  }

  // The first frame of each window in the set, and its number of frames.
  static std::vector<std::pair<int64_t, int64_t>> windows(const FramesView& frames,
                                                          const WindowSource& source) {
    std::vector<std::pair<int64_t, int64_t>> result;
    for (int64_t g = 0; g < source.graphs(); ++g) {
      const FrameSpans part = source.frames(g);
      result.emplace_back(part.can_id.data() - frames.frames().can_id.data(), part.size());
    }
    return result;
  }

  static void expect_partition(const FramesView& frames, const WindowSource& source) {
    int64_t next = 0;
    for (const auto& [first, count] : windows(frames, source)) {
      if (count == 0) continue;
      ASSERT_EQ(first, next);
      next += count;
    }
    EXPECT_EQ(next, frames.frames().size());
  }

  static void expect_same_but_for_the_index(GraphBlock a, GraphBlock b) {
    for (GraphBlock* block : {&a, &b})
      for (size_t i = 0; i < block->x.size(); i += BehaviourGraph::kNodeFeatures) block->x[i] = 0;
    EXPECT_EQ(a.x, b.x);
    EXPECT_EQ(a.node_ptr, b.node_ptr);
    EXPECT_EQ(a.edges, b.edges);
    EXPECT_EQ(a.edge_attr, b.edge_attr);
    EXPECT_EQ(a.y, b.y);
  }
};

TEST_F(Behaviour, EveryFrameIsInOneWindowAndTheLastIsKeptInPart) {
  const FramesView frames = make({{"test", bus(101, 1)},
                                  {"test", bus(1, 2)},
                                  {"test", {}},
                                  {"train", bus(300, 3)},
                                  {"train", bus(99, 4)}});
  const auto source = open_windows(frames, frames_each(100, 100));
  std::vector<int64_t> graphs;
  for (const GraphRange& recording : source->tables().recordings) graphs.push_back(recording.graphs);
  EXPECT_EQ(graphs, (std::vector<int64_t>{2, 1, 0, 3, 1}));
  EXPECT_EQ(source->frames(1).size(), 1);
  expect_partition(frames, *source);
  const GraphBlock block = all(*source);
  EXPECT_EQ(block.node_ptr[2] - block.node_ptr[1], 1);  // One frame makes one node.
  EXPECT_EQ(block.edge_ptr[2] - block.edge_ptr[1], 0);
}

TEST_F(Behaviour, WindowsMayOverlapOrLeaveFramesOut) {
  const FramesView frames = make({{"train", bus(250, 1)}});
  using Cuts = std::vector<std::pair<int64_t, int64_t>>;
  EXPECT_EQ(windows(frames, *open_windows(frames, frames_each(100, 50))),
            (Cuts{{0, 100}, {50, 100}, {100, 100}, {150, 100}}));
  EXPECT_EQ(windows(frames, *open_windows(frames, frames_each(100, 60))),
            (Cuts{{0, 100}, {60, 100}, {120, 100}, {180, 70}}));
  EXPECT_EQ(windows(frames, *open_windows(frames, frames_each(10, 100))),
            (Cuts{{0, 10}, {100, 10}, {200, 10}}));
  EXPECT_EQ(windows(frames, *open_windows(frames, frames_each(1000, 1000))), (Cuts{{0, 250}}));
}

TEST_F(Behaviour, WindowsByTimeMayBeEmpty) {
  const auto at = [](int64_t ms) { return Frame{ms * kMs, 16, {1}}; };
  // Time runs backwards at the third frame, which keeps its place.
  const FramesView frames =
      make({{"train", {at(100), at(149), at(120), at(150), at(270)}}, {"train", bus(500, 1)}});
  const auto source = open_windows(frames, time_each(50 * kMs, 50 * kMs));
  using Cuts = std::vector<std::pair<int64_t, int64_t>>;
  const Cuts cuts = windows(frames, *source);
  EXPECT_EQ(Cuts(cuts.begin(), cuts.begin() + 4), (Cuts{{0, 3}, {3, 1}, {4, 0}, {4, 1}}));
  expect_partition(frames, *source);
  const GraphBlock block = all(*source);
  EXPECT_EQ(block.node_ptr[3] - block.node_ptr[2], 0);
  EXPECT_EQ(block.edge_ptr[3] - block.edge_ptr[2], 0);
  EXPECT_EQ(block.y[2], 0);

  const Cuts half = windows(frames, *open_windows(frames, time_each(50 * kMs, 25 * kMs)));
  EXPECT_EQ(Cuts(half.begin(), half.begin() + 4), (Cuts{{0, 3}, {1, 3}, {3, 1}, {4, 0}}));
}

TEST_F(Behaviour, EverythingIsFiniteAndBoundedOnNastyFrames) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  std::vector<Frame> same_time;
  std::vector<Frame> backwards;
  std::vector<Frame> wild;
  std::vector<Frame> unknown;
  std::mt19937 random(9);
  for (int i = 0; i < 300; ++i) {
    same_time.push_back({7, static_cast<uint32_t>(i % 3), {}});
    backwards.push_back({-i * kMs, 16, {255, 255, 255, 255, 255, 255, 255, 255}});
    wild.push_back({i % 2 == 0 ? kMax : kMin, i % 2 == 0 ? kCanExtended | 16U : 16U, {}, kUnlabelled});
    unknown.push_back({i * kMs, kCanExtended | static_cast<uint32_t>(random()), {1, 2, 3}, 1});
  }
  // A regular ID for which there are expectations.
  const auto regular =
      together({every(10 * kMs, 0, 90), every(10 * kMs, 1, 90, 1), every(10 * kMs, 2, 90, 2)});
  for (const bool known : {true, false}) {
    const FramesView frames = make({{"test", same_time},
                                    {"test", backwards},
                                    {"test", wild},
                                    {"test", unknown},
                                    {"test", bus(300, 1), false, true},
                                    {"test", bus(300, 1), true, false},
                                    {"test", {{0, 16, {}}}},
                                    {"train", known ? bus(3000, 2) : std::vector<Frame>{{0, 999, {}}}},
                                    {"train", known ? regular : std::vector<Frame>{}}});
    const GraphBlock block = all(*open_windows(frames, frames_each(100, 37)));
    for (size_t i = 0; i < block.x.size(); ++i) {
      if (i % BehaviourGraph::kNodeFeatures == 0) continue;
      ASSERT_TRUE(std::abs(block.x[i]) <= 1)
          << BehaviourGraph::node_feature_names()[i % BehaviourGraph::kNodeFeatures];
    }
    for (size_t i = 0; i < block.edge_attr.size(); ++i)
      ASSERT_TRUE(block.edge_attr[i] >= 0 && block.edge_attr[i] <= 1)
          << BehaviourGraph::edge_feature_names()[i % BehaviourGraph::kEdgeFeatures];
  }
}

TEST_F(Behaviour, WithoutTimesAllTimeFeaturesAreZero) {
  const FramesView frames = make({{"test", bus(300, 1), false}, {"train", bus(3000, 2)}});
  const auto source = open_windows(frames, frames_each(100, 100));
  GraphBlock block;
  source->read(std::vector<int64_t>{1}, block);
  for (int64_t n = 0; n < block.nodes(); ++n) {
    for (const char* name : {"gap_mean", "gap_min", "gap_max", "gap_spread", "gap_change",
                             "gap_mean_deviation", "gap_min_deviation", "gap_max_deviation", "first_time",
                             "last_time", "window_gap", "window_gap_change"})
      EXPECT_EQ(node(block, n, name), 0) << name;
    EXPECT_GT(node(block, n, "count_share"), 0);
  }
  for (int64_t e = 0; e < block.edge_count(); ++e)
    for (const char* name : {"gap_mean", "gap_min", "gap_max"}) EXPECT_EQ(edge(block, e, name), 0) << name;
}

TEST_F(Behaviour, AGraphIsTheSameAloneInAnyBlockAndForAnyThreads) {
  const FramesView frames = make({{"test", with_attack(bus(5000, 1))}, {"train", bus(3000, 2)}});
  int made = 0;
  for (const WindowOptions& options : {frames_each(100, 100), time_each(50 * kMs, 20 * kMs)}) {
    const auto source = open_windows(frames, options);
    const std::vector<int64_t> graphs = {30, 2, 51, 7};
    GraphBlock together;
    source->read(graphs, together);
    for (size_t i = 0; i < graphs.size(); ++i) {
      GraphBlock alone;
      source->read(std::span(&graphs[i], 1), alone);
      ASSERT_EQ(alone.nodes(), together.node_ptr[i + 1] - together.node_ptr[i]);
      EXPECT_TRUE(std::equal(alone.x.begin(), alone.x.end(),
                             together.x.begin() + together.node_ptr[i] * BehaviourGraph::kNodeFeatures));
      EXPECT_TRUE(
          std::equal(alone.edge_attr.begin(), alone.edge_attr.end(),
                     together.edge_attr.begin() + together.edge_ptr[i] * BehaviourGraph::kEdgeFeatures));
    }
    std::vector<std::filesystem::path> out;
    for (const int threads : {1, 4}) {
      out.push_back(folder_ / ("out" + std::to_string(made++)));
      write_graph_set(*source, out.back(), false, {}, threads, [](int64_t, int64_t) {});
    }
    for (const char* file : {"node_ptr.npy", "edge_ptr.npy", "x.npy", "edges.npy", "edge_attr.npy", "y.npy"})
      EXPECT_EQ(read_text(out[0] / file), read_text(out[1] / file)) << file;
  }
}

TEST_F(Behaviour, NothingOlderThanTheLookBackMatters) {
  std::vector<Frame> recording = bus(5000, 1);
  const FramesView frames = make({{"test", recording}, {"train", bus(3000, 2)}});
  for (size_t i = 0; i < 3000 - BehaviourProfile::kLookBack; ++i) recording[i] = {0, 0x123, {9}};
  const FramesView other = make({{"test", recording}, {"train", bus(3000, 2)}});
  recording[3000 - BehaviourProfile::kLookBack] = {0, 0x123, {9}};
  const FramesView nearer = make({{"test", recording}, {"train", bus(3000, 2)}});
  const auto graph = [](const FramesView& view) {
    GraphBlock block;
    open_windows(view, frames_each(100, 100))->read(std::vector<int64_t>{30}, block);
    return block;
  };
  EXPECT_EQ(graph(frames).x, graph(other).x);
  EXPECT_NE(graph(frames).x, graph(nearer).x);
}

TEST_F(Behaviour, AttackFramesOfTrainingChangeNothing) {
  const std::vector<Frame> benign = bus(3000, 2);
  const Capture test{"test", with_attack(bus(1000, 1))};
  const FramesView clean = make({test, {"train", benign}});
  const FramesView attacked = make({test, {"train", with_attack(benign)}});
  const auto a = open_windows(clean, frames_each(100, 100));
  const auto b = open_windows(attacked, frames_each(100, 100));
  EXPECT_EQ(a->tables().vocabulary, b->tables().vocabulary);
  const std::vector<int64_t> graphs = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};
  GraphBlock x;
  GraphBlock y;
  a->read(graphs, x);
  b->read(graphs, y);
  EXPECT_EQ(x.x, y.x);
  EXPECT_EQ(x.edge_attr, y.edge_attr);
}

TEST_F(Behaviour, NothingButTheIndexTellsWhichIdItIs) {
  const auto renamed = [](std::vector<Frame> frames, const std::function<uint32_t(uint32_t)>& name) {
    for (Frame& frame : frames) frame.can_id = name(frame.can_id);
    return frames;
  };
  const auto graphs = [&](const std::function<uint32_t(uint32_t)>& name) {
    return all(*open_windows(
        make({{"test", renamed(with_attack(bus(1000, 1)), name)}, {"train", renamed(bus(3000, 2), name)}}),
        frames_each(100, 100)));
  };
  const GraphBlock original = graphs([](uint32_t id) { return id; });
  const GraphBlock moved = graphs([](uint32_t id) { return id / 2 + 3; });
  expect_same_but_for_the_index(original, moved);
  EXPECT_EQ(original.x, moved.x);  // The order is kept, and with it the index.
  expect_same_but_for_the_index(original, graphs([](uint32_t id) { return 0x7FF - id; }));
}

TEST_F(Behaviour, FeaturesAreWhatTheDocumentSays) {
  // The benign recording has 16 every 10 ms with two bytes, and 32 right after it with none.
  std::vector<Frame> benign;
  for (int i = 0; i < 100; ++i) {
    benign.push_back({i * 10 * kMs, 16, {51, 0}});
    benign.push_back({i * 10 * kMs + kMs, 32, {}});
  }
  // The test has 16 twice as often and with another payload at the end; 999 is unknown.
  const std::vector<Frame> test = {{0, 16, {51, 0}},
                                   {1 * kMs, 999, {255}},
                                   {5 * kMs, 16, {51, 0}},
                                   {10 * kMs, 16, {51, 3}},
                                   {10 * kMs, 999, {255, 0}, 1}};
  const FramesView frames = make({{"test", test}, {"train", benign}});
  const auto source = open_windows(frames, frames_each(100, 100));
  GraphBlock block;
  source->read(std::vector<int64_t>{0}, block);
  const auto scaled = [](double us) { return std::log(1 + us) / std::log(1 + 1e7); };
  ASSERT_EQ(block.nodes(), 2);
  EXPECT_EQ(block.y[0], 1);
  EXPECT_EQ(node(block, 0, "id_index"), 0);
  EXPECT_EQ(node(block, 1, "id_index"), 2);
  EXPECT_EQ(node(block, 0, "known"), 1);
  EXPECT_EQ(node(block, 1, "known"), 0);
  EXPECT_FLOAT_EQ(node(block, 0, "count_share"), 0.6F);
  EXPECT_EQ(node(block, 0, "seen_before"), 0);
  EXPECT_EQ(node(block, 0, "count_change"), 0);
  EXPECT_FLOAT_EQ(node(block, 0, "gap_mean"), static_cast<float>(scaled(5000)));
  EXPECT_FLOAT_EQ(node(block, 1, "gap_max"), static_cast<float>(scaled(9000)));
  EXPECT_NEAR(node(block, 0, "gap_spread"), 0, 1e-7);
  EXPECT_EQ(node(block, 0, "gap_min_deviation"), -1);  // Half the gap is more than eight deviations.
  EXPECT_EQ(node(block, 1, "gap_min_deviation"), 0);
  EXPECT_FLOAT_EQ(node(block, 0, "length"), std::sqrt(2.0F / 64));
  EXPECT_FLOAT_EQ(node(block, 1, "length_change"), 1);
  EXPECT_EQ(node(block, 0, "length_unusual"), 0);
  EXPECT_FLOAT_EQ(node(block, 0, "ones_share"), 14.0F / 48);
  EXPECT_FLOAT_EQ(node(block, 0, "changed_bits"), 2.0F / 32);
  EXPECT_FLOAT_EQ(node(block, 0, "same_payload"), 0.5F);
  EXPECT_FLOAT_EQ(node(block, 0, "byte_change_1"), 0.5F);
  EXPECT_EQ(node(block, 0, "byte_change_0"), 0);
  EXPECT_FLOAT_EQ(node(block, 0, "byte_deviation_1"), 1.0F / 255 / 0.01F / 8);
  EXPECT_FLOAT_EQ(node(block, 1, "first_position"), 0.25F);
  EXPECT_FLOAT_EQ(node(block, 1, "first_time"), 0.1F);
  EXPECT_FLOAT_EQ(node(block, 0, "in_degree"), 1);  // The sources are 999 and the ID itself.
  EXPECT_FLOAT_EQ(node(block, 1, "in_degree"), 0.5F);
  EXPECT_FLOAT_EQ(node(block, 0, "repeat_share"), 1.0F / 3);
  EXPECT_FLOAT_EQ(node(block, 0, "window_gap"), static_cast<float>(scaled(2500)));
  EXPECT_FLOAT_EQ(node(block, 0, "window_nodes"), 0.4F);

  // The edges are 16 -> 16, 16 -> 999 (twice) and 999 -> 16.
  ASSERT_EQ(block.edge_count(), 3);
  EXPECT_EQ(std::vector<int32_t>(block.edges.begin(), block.edges.end()),
            (std::vector<int32_t>{0, 0, 0, 1, 1, 0}));
  EXPECT_FLOAT_EQ(edge(block, 1, "count_share"), 0.5F);
  EXPECT_FLOAT_EQ(edge(block, 1, "source_share"), 2.0F / 3);
  EXPECT_FLOAT_EQ(edge(block, 1, "target_share"), 1);
  EXPECT_EQ(edge(block, 0, "known_transition"), 0);
  EXPECT_EQ(edge(block, 1, "gap_min"), 0);
  EXPECT_FLOAT_EQ(edge(block, 1, "gap_mean"), static_cast<float>(scaled(500)));
  EXPECT_FLOAT_EQ(edge(block, 1, "gap_max"), static_cast<float>(scaled(1000)));
  EXPECT_FLOAT_EQ(edge(block, 1, "last_position"), 1);
  EXPECT_FLOAT_EQ(edge(block, 1, "position_gap"), 1);
  EXPECT_EQ(edge(block, 1, "has_reverse"), 1);

  // In the second benign window of six frames all values are as in the first.
  const auto small = open_windows(frames, frames_each(6, 6));
  small->read(std::vector<int64_t>{1 + 10}, block);
  ASSERT_EQ(block.nodes(), 2);
  EXPECT_NEAR(node(block, 0, "gap_change"), 0, 1e-6);
  EXPECT_NEAR(node(block, 0, "gap_mean_deviation"), 0, 1e-6);
  EXPECT_NEAR(node(block, 0, "byte_deviation_0"), 0, 1e-6);
  EXPECT_NEAR(node(block, 0, "count_change"), 0, 0.01);
  EXPECT_EQ(node(block, 0, "seen_before"), 1);
  EXPECT_EQ(node(block, 1, "empty_share"), 1);
  EXPECT_EQ(edge(block, 0, "known_transition"), 1);
}

TEST_F(Behaviour, ALongPayloadCountsWhole) {
  constexpr int64_t kWidth = 64;
  const std::vector<int64_t> time = {0, kMs};
  const std::vector<uint32_t> id = {1, 1};
  const std::vector<uint8_t> length = {64, 16};
  const std::vector<uint8_t> label = {0, kUnlabelled};
  std::vector<uint8_t> data(2 * kWidth, 0);
  std::fill_n(data.begin(), kWidth, uint8_t{255});
  std::fill_n(data.begin() + kWidth, 16, uint8_t{255});
  FrameSpans frames{time, id, length, data, label};
  frames.width = kWidth;
  const BehaviourProfile profile{Vocabulary({{2}})};
  GraphBlock block;
  block.clear();
  const Recording recording;
  BehaviourGraph(frames).append({&recording, 0, 2}, profile, block);
  ASSERT_EQ(block.nodes(), 1);
  EXPECT_FLOAT_EQ(node(block, 0, "length"), std::sqrt(40.0F / 64));
  EXPECT_EQ(node(block, 0, "ones_share"), 1);
  EXPECT_FLOAT_EQ(node(block, 0, "changed_bits"), 48.0F / 64);
  EXPECT_EQ(node(block, 0, "byte_change_7"), 0);
  EXPECT_EQ(node(block, 0, "length_change"), 1);
}

TEST_F(Behaviour, TheVocabularyIsTakenFromTheSplitsNamed) {
  const FramesView frames =
      make({{"garage", {{0, 5, {}}, {1, 6, {}, 1}, {2, 7, {}, kUnlabelled}}}, {"train", {{0, 8, {}}}}});
  WindowOptions options = frames_each(100, 100);
  EXPECT_EQ(open_windows(frames, options)->tables().vocabulary.keys, (MessageKeys{8}));
  options.learn_from.splits = {"garage"};
  EXPECT_EQ(open_windows(frames, options)->tables().vocabulary.keys, (MessageKeys{5}));
  options.features = WindowFeatures::compat;
  EXPECT_EQ(open_windows(frames, options)->tables().vocabulary.keys, (MessageKeys{5, 6, 7}));
  options.learn_from.splits = {"garage", "elsewhere"};
  EXPECT_THROW(open_windows(frames, options), UsageError);
}

TEST_F(Behaviour, AProfileFromItsTensorsGivesTheSameGraphsOfAnyData) {
  const FramesView frames = make({{"test", with_attack(bus(1000, 1))}, {"train", bus(3000, 2)}});
  const auto source = open_windows(frames, frames_each(100, 100));
  const GraphBlock learned = all(*source);
  const NamedTensors tensors = source->learned();
  const auto known = [&] { return TrainedContext{.profile = BehaviourProfile::from_tensors(tensors)}; };
  EXPECT_EQ(all(*open_windows(frames, frames_each(100, 100), known())).x, learned.x);
  // The calibrated profile does not depend on training data: `alone` has no training data, and the other set
  // has different data.
  const FramesView alone = make({{"test", with_attack(bus(1000, 1))}});
  EXPECT_THROW(open_windows(alone, frames_each(100, 100)), InputError);
  const GraphBlock judged = all(*open_windows(alone, frames_each(100, 100), known()));
  EXPECT_TRUE(std::ranges::equal(judged.x, std::span(learned.x).first(judged.x.size())));
  EXPECT_EQ(open_windows(alone, frames_each(100, 100), known())->tables().vocabulary,
            source->tables().vocabulary);
  EXPECT_TRUE(open_windows(frames, {})->learned().empty());
}

TEST_F(Behaviour, DamagedTensorsOfAProfileAreRefused) {
  const FramesView frames = make({{"train", bus(300, 1)}});
  const NamedTensors good = open_windows(frames, frames_each(100, 100))->learned();
  EXPECT_FALSE(BehaviourProfile::from_tensors({}).has_value());
  for (const auto& [name, tensor] : good) {
    NamedTensors bad = good;
    bad.erase(name);
    // Detectors of earlier versions lack this tensor.
    if (name != "profile.ids" && name != "profile.silence") {
      EXPECT_THROW(BehaviourProfile::from_tensors(bad), InputError) << name;
    }
    bad[name] = own_tensor<float>(std::vector<float>{1}, {1});
    EXPECT_THROW(BehaviourProfile::from_tensors(bad), InputError) << name;
  }
  NamedTensors unordered = good;
  unordered["profile.ids"] = own_tensor<int64_t>(std::vector<int64_t>{2, 1}, {2});
  EXPECT_THROW(BehaviourProfile::from_tensors(unordered), InputError);
}

TEST_F(Behaviour, NothingIsLearnedFromAttacksLeftOut) {
  const FramesView frames =
      make({{"train", bus(300, 1)}, {"train", with_attack(bus(300, 2)), true, true, "DoS"}});
  const FramesView without = make({{"train", bus(300, 1)}});
  WindowOptions options = frames_each(100, 100);
  const NamedTensors from_all = open_windows(frames, options)->learned();
  options.learn_from.leave_out = {"fuzzing", "DoS"};
  const NamedTensors left_out = open_windows(frames, options)->learned();
  const NamedTensors absent = open_windows(without, options)->learned();
  bool differs = false;
  for (const auto& [name, tensor] : absent) {
    EXPECT_EQ(left_out.at(name).data, tensor.data) << name;
    differs |= from_all.at(name).data != tensor.data;
  }
  EXPECT_TRUE(differs);
  options.features = WindowFeatures::compat;
  EXPECT_EQ(open_windows(frames, options)->tables().vocabulary,
            open_windows(without, options)->tables().vocabulary);
  EXPECT_NE(open_windows(frames, {})->tables().vocabulary, open_windows(without, {})->tables().vocabulary);
}

TEST_F(Behaviour, WhatMakesNoSenseIsRefused) {
  const FramesView frames = make({{"train", bus(300, 1)}});
  EXPECT_THROW(open_windows(frames, frames_each(1, 1)), UsageError);
  EXPECT_THROW(open_windows(frames, frames_each(100, 0)), UsageError);
  EXPECT_THROW(open_windows(frames, time_each(10, 50 * kMs)), UsageError);
  EXPECT_THROW(open_windows(frames, {WindowFeatures::compat, 50 * kMs, 50 * kMs, WindowUnit::nanoseconds}),
               UsageError);
  const FramesView attacks = make({{"train", {{0, 1, {}, 1}}}});
  EXPECT_THROW(open_windows(attacks, frames_each(100, 100)), InputError);
  EXPECT_THROW(open_windows(attacks, frames_each(100, 100), {.vocabulary = {{1}}}), InputError);
  const FramesView timeless = make({{"train", bus(300, 1), false}});
  EXPECT_THROW(open_windows(timeless, time_each(50 * kMs, 50 * kMs)), InputError);
  // If the clock jumps, there are no more windows than a file of that length can have.
  std::vector<Frame> jump = bus(300, 1);
  jump.back().time_ns = std::numeric_limits<int64_t>::max();
  const FramesView jumps = make({{"train", jump}});
  EXPECT_THROW(open_windows(jumps, time_each(50 * kMs, 50 * kMs)), InputError);
}

TEST(WindowLength, IsFramesOrTime) {
  const auto parsed = [](const char* text) {
    const WindowLength length = WindowLength::parse(text);
    return std::pair(length.value, length.unit == WindowUnit::nanoseconds);
  };
  EXPECT_EQ(parsed("100"), std::pair(int64_t{100}, false));
  EXPECT_EQ(parsed("250us"), std::pair(int64_t{250'000}, true));
  EXPECT_EQ(parsed("50 ms"), std::pair(50 * kMs, true));
  EXPECT_EQ(parsed("1.5s"), std::pair(1500 * kMs, true));
  EXPECT_EQ((WindowLength{1500 * kMs, WindowUnit::nanoseconds}.text()), "1500ms");
  EXPECT_EQ((WindowLength{2000 * kMs, WindowUnit::nanoseconds}.text()), "2s");
  EXPECT_EQ((WindowLength{100, WindowUnit::frames}.text()), "100");
  for (const char* text : {"", "ms", "50 hours", "-5ms", "nan s", "1e999s", "50ms!", "1.5"})
    EXPECT_THROW(WindowLength::parse(text), UsageError) << text;
}

}  // namespace
}  // namespace plimsoll
