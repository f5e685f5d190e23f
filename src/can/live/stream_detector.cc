#include "can/live/stream_detector.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "can/capture/fields.h"
#include "can/detector/calibrate.h"
#include "can/windows/compat_graph.h"

namespace plimsoll {
namespace {

WindowOptions windows_of(WindowOptions windows, const DetectOptions& options) {
  const auto length_or = [&](const std::optional<WindowLength>& given, int64_t trained) {
    if (!given) return trained;
    if (given->unit != windows.unit)
      throw UsageError(fmt::format("the detector was trained on windows of {}: {} has the other unit",
                                   WindowLength{windows.window, windows.unit}.text(), given->text()));
    return given->value;
  };
  windows.window = length_or(options.window, windows.window);
  windows.stride = length_or(options.stride, windows.stride);
  return windows;
}

float threshold_of(const DetectorFile& model, const DetectOptions& options) {
  const auto rate = options.false_alarms;
  if (rate && !(*rate > 0 && *rate < 1))
    throw UsageError(fmt::format("--false-alarms {}: expected a rate above 0 and below 1", *rate));
  const float level = options.threshold ? *options.threshold : model.threshold(rate.value_or(0));
  if (!std::isfinite(level)) throw UsageError(fmt::format("a threshold of {} is not a finite number", level));
  return level;
}

TrainedContext with_adopted(const DetectorFile& model, const std::vector<uint32_t>& can_ids) {
  TrainedContext known = model.known;
  if (can_ids.empty()) return known;
  require_calibratable(model);
  known.profile->adopt(can_ids);
  return known;
}

}  // namespace

uint32_t adopted_id(const std::string& text) {
  try {
    return parse_hex_id(text);
  } catch (const LineError& wrong) {
    throw UsageError(fmt::format("adopt '{}': expected {}, as in 1F0 or 18FEF100", text, wrong.expected));
  }
}

StreamDetector::StreamDetector(const std::filesystem::path& model, const DetectOptions& options)
    : StreamDetector(DetectorFile(model), options) {}

StreamDetector::StreamDetector(const DetectorFile& model, const DetectOptions& options)
    : trained_windows_(model.windows),
      windows_(windows_of(model.windows, options)),
      vocabulary_(model.known.vocabulary),
      silence_(model.known.profile ? model.known.profile->silence() : BusSilence{}),
      adopted_(options.adopted),
      stream_(windows_, with_adopted(model, options.adopted)),
      scorer_(model, stream_.tables()),
      fusion_(model.fusion),
      threshold_(threshold_of(model, options)),
      file_hash_(model.file.hash()) {}

bool StreamDetector::next(WindowResult& result) {
  if (!stream_.next(result.window)) return false;
  GraphBlock& graph = stream_.graph();
  const FrameSpans frames = stream_.frames();
  result.labelled = frames.size() > 0 && frames.label.front() != kUnlabelled;
  result.attack = graph.y.front() == 1;
  if (fusion_) {
    const auto parts = scorer_.parts(graph, stream_.frame_statistics(), fusion_->is_by_id());
    result.score = fusion_->score(parts);
    result.by_part = fusion_->scores_by_part(parts);
  } else {
    result.score = scorer_.log_odds(graph);
  }
  // NaN must not pass for benign. Levels were learned from whole windows and do not fit a window of a few
  // frames, in which each frame is a large share.
  const bool whole = !result.window.partial || first_;
  first_ = false;
  result.alarm = whole && !(result.score <= threshold_);
  return true;
}

MessageKeys StreamDetector::node_ids() const {
  if (windows_.features == WindowFeatures::behaviour) return stream_.node_ids();
  return compat_node_ids(stream_.frames().can_id, vocabulary_);
}

}  // namespace plimsoll
