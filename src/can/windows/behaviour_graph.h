#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "can/profile/behaviour_profile.h"
#include "can/profile/id_slots.h"
#include "can/windows/transitions.h"
#include "sample/block/block.h"

namespace plimsoll {

/// Makes the behaviour graphs of windows, one after the other, and keeps its scratch memory between them. A
/// graph depends on the window's frames, the profile and at most BehaviourProfile::kLookBack frames of the
/// recording before the window. Not thread-safe.
class BehaviourGraph {
 public:
  static constexpr int64_t kNodeFeatures = 55;
  static constexpr int64_t kEdgeFeatures = 11;
  static constexpr int64_t kMaxFrames = int64_t{1} << 21;  ///< Maximum frames of a window.
  static std::vector<std::string> node_feature_names();
  static std::vector<std::string> edge_feature_names();
  /// The node and edge features that are 0 for an ID that is not known (BehaviourProfile::is_known()).
  static std::vector<std::string> known_id_feature_names();

  /// `frames` is the whole set; it must outlive the object.
  explicit BehaviourGraph(const FrameSpans& frames) : frames_(frames) {}

  /// Appends the window's graph to the block, except its index. The label is 1 if a frame of the window is
  /// labelled 1, otherwise 0. The window has at most kMaxFrames frames, perhaps none. The profile must
  /// outlive calls of node_ids(). Errors: BudgetExceeded.
  void append(const FrameWindow& window, const BehaviourProfile& profile, GraphBlock& block);
  /// The message of each node of the graph that append() made last, known or not. Overdue IDs are last.
  MessageKeys node_ids() const;
  /// Prefetches the memory that append() reads first: shuffled windows are spread over the whole set.
  void prefetch(const FrameWindow& window) const;

 private:
  // A node while its window is being made. Counts fit into 32 bits because a window has at most kMaxFrames
  // frames.
  struct Node {
    MessageKey key = 0;
    int32_t index = 0;  // Index in the vocabulary.
    int32_t count = 0;
    int32_t first = 0;  // Position of the first frame.
    int32_t last = 0;
    int32_t in = 0;  // Distinct sources.
    int32_t out = 0;
    int32_t repeats = 0;
    int32_t before = 0;     // Frames in the look-back.
    int64_t previous = -1;  // The last frame seen; initially the last one of the look-back.
    int64_t before_previous = -1;
    double gap_before = 0;  // Mean gap in the look-back, scaled.
    int32_t gaps = 0;
    double gap_sum = 0;  // Sum of scaled gaps.
    double gap_squares = 0;
    double gap_min = 1;
    double gap_max = 0;
    int32_t pairs = 0;  // Frames that have a previous frame.
    int32_t same = 0;
    int32_t changed_bits = 0;
    int32_t compared_bits = 0;
    int32_t length_changes = 0;
    int32_t unusual = 0;
    int32_t empty = 0;
    int32_t ones = 0;
    int32_t lengths = 0;
    std::array<int32_t, kPayloadBytes> changes{};
    std::array<int32_t, kPayloadBytes> bytes{};
    // Deviations from what is expected of the ID.
    int64_t min_two_gaps = std::numeric_limits<int64_t>::max();
    int32_t early = 0;       // Frames that obviously come too soon after the second-to-last frame.
    int32_t unfixed = 0;     // Frames in which a bit changed that never changed before.
    int32_t jumps = 0;       // Pairs in which a byte changed more than ever.
    int32_t broken = 0;      // Pairs in which a counter did not count.
    int64_t silence = 0;     // Nanoseconds from its last frame to the window's end.
    int32_t still = 0;       // Number of consecutive frames with one payload, up to the last.
    bool all_still = false;  // The payload has not changed since before the window's first frame.
  };
  // An expected ID that is absent from the window and has been silent for too long at its end.
  struct Overdue {
    int32_t index;
    int64_t silence;
  };
  struct Load;     // Load of the bus in a window.
  struct Before {  // A node's frames in the look-back, counted from its start.
    int32_t count = 0;
    int32_t first = std::numeric_limits<int32_t>::max();
    int32_t last = 0;
    int32_t before_last = -1;
  };

  void see_frames(const FrameWindow& window);
  void look_back(const FrameWindow& window);
  void compare_frames(const FrameWindow& window);
  void compare_times(Node& node, int64_t frame, int64_t previous, int64_t before_previous) const;
  void compare_payload(Node& node, int64_t frame, int64_t previous) const;
  void expect_payload(Node& node, const uint8_t* data, const uint8_t* old) const;
  void find_silence(const FrameWindow& window);
  void find_still(const FrameWindow& window);
  Load bus_load(const FrameWindow& window) const;
  void write_nodes(const FrameWindow& window, GraphBlock& block) const;
  void write_counts(const Node& node, const FrameWindow& window, float* row) const;
  void write_gaps(const Node& node, float* row) const;
  void write_payload(const Node& node, float* row) const;
  void write_times(const Node& node, const FrameWindow& window, const Load& load, float* row) const;
  void write_overdue(const Overdue& id, float* row) const;
  void write_edges(const FrameWindow& window, GraphBlock& block) const;

  const FrameSpans& frames_;
  // State of the window being made.
  const BehaviourProfile* profile_ = nullptr;
  FrameKeys keys_;
  IdSlots<> slots_;
  Vector<Node, Tag::blocks> nodes_;       // In the order in which their IDs appear.
  Vector<int32_t, Tag::blocks> node_of_;  // Indexed by frame of the window.
  Transitions transitions_;
  Vector<Before, Tag::blocks> before_;  // Indexed by node + 1; entry 0 is for all other IDs.
  int32_t looked_back_ = 0;             // Frames before the window that were read.
  Vector<Overdue, Tag::blocks> overdue_;
  Vector<uint8_t, Tag::blocks> missing_;  // Indexed by ID: whether it is expected and not found yet.
};

}  // namespace plimsoll
