#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "ingest/vocabulary.h"
#include "sample/block.h"
#include "store/frames.h"

namespace plimsoll {

/// How frames are cut into windows and described.
struct WindowOptions {
  std::string features = "compat";
  int64_t window = 100;  ///< frames
  int64_t stride = 100;  ///< frames
};

/// Graphs of windows, made on the fly from a `frames` set: one graph a window, in the order of recordings and
/// time.
class WindowSource : public BlockSource {
 public:
  /// The consecutive frames that a window looks at.
  virtual FrameSpans frames(int64_t graph) const = 0;
};

/// `vocabulary` empty: that of all training frames of the set, which compat asks for. The set must outlive
/// the source. Errors: UsageError (unknown features, window below 2, stride below 1), InputError (no
/// vocabulary to be had).
std::unique_ptr<WindowSource> open_windows(const FramesView& frames, const WindowOptions& options,
                                           std::vector<uint32_t> vocabulary = {});

/// Writes all graphs of a source to a `graph_set`, in blocks on `threads` threads; the same bytes for any
/// number. `progress` gets graphs done and in all.
void write_graph_set(const BlockSource& source, const std::filesystem::path& out, bool force,
                     const Json& provenance, int threads,
                     const std::function<void(int64_t, int64_t)>& progress);

/// The ID rule that needs no learning: for each graph 1 if its window holds an ID that is not in `known`,
/// else 0.
Vector<uint8_t, Tag::columns> unknown_id_rule(const WindowSource& source, const std::vector<uint32_t>& known);

}  // namespace plimsoll
