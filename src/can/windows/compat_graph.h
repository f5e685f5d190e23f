#pragma once

#include <array>

#include "can/profile/id_slots.h"
#include "can/profile/vocabulary.h"
#include "can/windows/transitions.h"
#include "sample/block/block.h"

namespace plimsoll {

/// A window of rows, as the published code makes them. A row is a frame and the next one; the last frame of
/// each chunk of a recording is not the first frame of a row.
struct CompatRows {
  static constexpr int64_t kChunk = 5000;  ///< Number of frames that the published code reads at a time.

  int64_t first_row = 0;  ///< First row in its recording.
  int64_t count = 0;      ///< W, the number of rows.
  /// Index of the recording's first frame in the given frames; negative if they begin later.
  int64_t first_frame = 0;

  /// Index, in the given frames, of the source of the row at this position of the window.
  int64_t frame(int64_t position) const { return first_frame + frame_of(first_row + position); }
  /// Number of frames that the window looks at, from frame(0) on. It must have a row.
  int64_t frames() const { return frame(count - 1) + 2 - frame(0); }
  /// Number of rows from this position of the window to the end of its chunk.
  int64_t rows_to_chunk_end(int64_t position) const {
    return kChunk - 1 - (first_row + position) % (kChunk - 1);
  }

  /// Number of rows of `frames` frames: each chunk, including a shorter last one, has one row fewer than
  /// frames.
  static int64_t in_frames(int64_t frames) { return frames - (frames + kChunk - 1) / kChunk; }
  /// The frame that is the source of a row, counted from the recording's first frame.
  static int64_t frame_of(int64_t row) { return row + row / (kChunk - 1); }
};

/// The ID of each node of a window's graph, in the order of nodes, which is that of the vocabulary. The
/// single node of all unknown IDs gets the first of them. `can_ids` are those of the frames that the window
/// looks at.
MessageKeys compat_node_ids(std::span<const uint32_t> can_ids, const Vocabulary& vocabulary);

/// Makes the published graphs of windows (docs/compat-features.md), one after the other, and keeps its
/// scratch memory between them. Not thread-safe.
class CompatGraph {
 public:
  static constexpr int64_t kNodeFeatures = 11;
  static constexpr int64_t kEdgeFeatures = 11;

  /// `vocabulary` must outlive the object.
  explicit CompatGraph(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {}

  /// Appends the graph of the window, which must have a row, to the block, except its index. The label is 1
  /// if the source of a row is labelled 1, otherwise 0.
  void append(const FrameSpans& frames, const CompatRows& window, GraphBlock& block);

 private:
  // A node while its window is being made.
  struct Node {
    MessageKey key = 0;     // Key in local_.
    int32_t count = 0;      // Number of rows of which it is the source.
    int32_t target_of = 0;  // Number of rows of which it is the target.
    int32_t last = 0;       // Position of the last row of which it is the source.
    int32_t place = 0;      // Place among the nodes in ascending order.
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
  IdSlots<Tag::blocks> local_;           // Maps an ID index to its node in the current window.
  Vector<Node, Tag::blocks> nodes_;      // In the order in which they appear.
  Vector<uint64_t, Tag::blocks> order_;  // ID index and node, ascending.
  Transitions transitions_;
  int64_t label_ = 0;
};

}  // namespace plimsoll
