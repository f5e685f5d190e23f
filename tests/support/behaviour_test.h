#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "can/frames/frame_batch.h"
#include "can/windows/behaviour_graph.h"
#include "can/windows/windows.h"
#include "support/temp_folder.h"

namespace plimsoll {

inline constexpr int64_t kMs = 1'000'000;

struct Frame {
  int64_t time_ns = 0;
  uint32_t can_id = 0;
  std::vector<uint8_t> payload = {};
  uint8_t label = 0;
};

struct Capture {
  std::string split;
  std::vector<Frame> frames;
  bool has_time = true;
  bool has_payload = true;
  std::optional<std::string> attack = {};
};

/// Returns the frames as columns.
inline FrameBatch batch_of(const std::vector<Frame>& frames) {
  FrameBatch batch;
  for (const Frame& frame : frames) {
    std::array<uint8_t, kPayloadBytes> data{};
    std::copy(frame.payload.begin(), frame.payload.end(), data.begin());
    batch.time_ns.push_back(frame.time_ns);
    batch.can_id.push_back(frame.can_id);
    batch.length.push_back(static_cast<uint8_t>(frame.payload.size()));
    batch.data.insert(batch.data.end(), data.begin(), data.end());
    batch.label.push_back(frame.label);
  }
  return batch;
}

/// Makes `count` frames of one ID, `period` apart.
inline std::vector<Frame> every(int64_t period, uint32_t can_id, int count, int64_t start = 0) {
  std::vector<Frame> frames;
  for (int i = 0; i < count; ++i) frames.push_back({start + i * period, can_id});
  return frames;
}

/// Merges lists of frames in order of time.
inline std::vector<Frame> together(const std::vector<std::vector<Frame>>& all) {
  std::vector<Frame> frames;
  for (const auto& some : all) frames.insert(frames.end(), some.begin(), some.end());
  std::ranges::stable_sort(frames, {}, &Frame::time_ns);
  return frames;
}

/// Returns the profile of consecutive frames of one recording.
inline BehaviourProfile learned_from(const std::vector<Frame>& frames, const Recording& recording = {}) {
  const FrameBatch batch = batch_of(frames);
  const FrameWindow run{&recording, 0, std::ssize(frames)};
  return BehaviourProfile::learn(batch.spans(), {&run, 1});
}

/// Sets of made-up frames, and their behaviour graphs.
class BehaviourTest : public ::testing::Test {
 protected:
  FramesView make(const std::vector<Capture>& captures) {
    const auto folder = folder_ / ("frames" + std::to_string(made_++));
    FramesWriter writer(folder, false);
    for (size_t r = 0; r < captures.size(); ++r) {
      writer.append(batch_of(captures[r].frames).spans());
      Recording recording;
      recording.name = "r" + std::to_string(r);
      recording.split = captures[r].split;
      recording.attack = captures[r].attack;
      recording.has_time = captures[r].has_time;
      recording.has_payload = captures[r].has_payload;
      writer.end_recording(recording);
    }
    writer.publish(Json::object());
    return FramesView(folder);
  }

  static GraphBlock all(const WindowSource& source) {
    std::vector<int64_t> wanted(static_cast<size_t>(source.graphs()));
    std::iota(wanted.begin(), wanted.end(), 0);
    GraphBlock block;
    source.read(wanted, block);
    return block;
  }

  static double node(const GraphBlock& block, int64_t row, const std::string& name) {
    return column(block.x, row, BehaviourGraph::node_feature_names(), name);
  }
  static double edge(const GraphBlock& block, int64_t row, const std::string& name) {
    return column(block.edge_attr, row, BehaviourGraph::edge_feature_names(), name);
  }

  TempFolder folder_;

 private:
  template <typename Values>
  static double column(const Values& values, int64_t row, const std::vector<std::string>& names,
                       const std::string& name) {
    const auto at = std::find(names.begin(), names.end(), name) - names.begin();
    EXPECT_LT(at, static_cast<int64_t>(names.size())) << name;
    return values.at(static_cast<size_t>(row * static_cast<int64_t>(names.size()) + at));
  }

  int made_ = 0;
};

}  // namespace plimsoll
