#pragma once

#include <array>

#include "can/profile/id_slots.h"
#include "can/profile/vocabulary.h"
#include "can/windows/transitions.h"
#include "sample/block/block.h"

namespace plimsoll {

/// A window of the published code's rows: a row is a frame and the next one, and the last frame of each chunk
/// of a recording is left out as the first of a row.
struct CompatRows {
  static constexpr int64_t kChunk = 5000;  ///< frames that the published code reads at a time

  int64_t first_row = 0;    ///< in its recording
  int64_t count = 0;        ///< W
  int64_t first_frame = 0;  ///< of the recording, in the frames at hand; negative where they begin later

  int64_t frame(int64_t position) const { return first_frame + frame_of(first_row + position); }
  /// Frames that the window looks at, from frame(0) on.
  int64_t frames() const { return frame(count - 1) + 2 - frame(0); }
  int64_t rows_to_chunk_end(int64_t position) const {
    return kChunk - 1 - (first_row + position) % (kChunk - 1);
  }

  /// The rows of so many frames: each chunk, also a shorter last one, has one fewer than frames.
  static int64_t in_frames(int64_t frames) { return frames - (frames + kChunk - 1) / kChunk; }
  /// The frame, counted from the recording's first, that is the source of a row.
  static int64_t frame_of(int64_t row) { return row + row / (kChunk - 1); }
};

/// The ID of each node of a window's graph, in their order, that of the vocabulary; of the one node of all
/// unknown IDs the first. `can_ids`: of the frames that the window looks at.
MessageKeys compat_node_ids(std::span<const uint32_t> can_ids, const Vocabulary& vocabulary);

/// Makes the published graphs of windows (docs/compat-features.md), one after the other, and keeps its
/// scratch memory between them. Not thread-safe.
class CompatGraph {
 public:
  static constexpr int64_t kNodeFeatures = 11;
  static constexpr int64_t kEdgeFeatures = 11;

  /// `vocabulary` must outlive this.
  explicit CompatGraph(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {}

  /// Appends the window's graph to the block, all but its index.
  void append(const FrameSpans& frames, const CompatRows& window, GraphBlock& block);

 private:
  // A node while its window is being made.
  struct Node {
    MessageKey key = 0;     // of local_
    int32_t count = 0;      // rows of which it is the source
    int32_t target_of = 0;  // rows of which it is the target
    int32_t last = 0;       // position of the last row of which it is the source
    int32_t place = 0;      // among the nodes in ascending order
    std::array<double, kPayloadBytes> sums{};
    int32_t degree() const { return count + target_of; }
  };

  static int32_t index_of(uint64_t entry) { return static_cast<int32_t>(entry >> 32); }
  const Node& node_of(uint64_t entry) const { return nodes_[entry & 0xFFFFFFFF]; }
  int32_t see(uint32_t can_id);
  void read_rows(const FrameSpans& frames, const CompatRows& window);
  void order_nodes();
  void write_nodes(int64_t window, GraphBlock& block) const;
  void write_edges(int64_t window, GraphBlock& block) const;

  const Vocabulary& vocabulary_;
  IdSlots<Tag::blocks> local_;           // node of an ID index in the present window
  Vector<Node, Tag::blocks> nodes_;      // in the order in which they appear
  Vector<uint64_t, Tag::blocks> order_;  // ID index and node, ascending
  Transitions transitions_;
  int64_t label_ = 0;
};

}  // namespace plimsoll
