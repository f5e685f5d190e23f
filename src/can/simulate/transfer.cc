#include "can/simulate/transfer.h"

#include <algorithm>

#include "base/error.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kBatchFrames = 1 << 14;

}  // namespace

void Transfer::recording(FrameSource& source, int64_t max, const Recording& recording) {
  sink_.begin(recording);
  for (int64_t left = max; left > 0;) {
    read_frames(source, std::min(left, kBatchFrames), batch_);
    const FrameSpans frames = recording.channels.empty() ? batch_.spans() : batch_.merged_spans();
    if (frames.size() == 0) break;
    sink_.append(frames);
    left -= frames.size();
    result_.frames += frames.size();
    result_.attack_frames += std::count(frames.label.begin(), frames.label.end(), uint8_t{1});
    progress_(result_.frames, expected_);
  }
  sink_.end(recording);
  ++result_.recordings;
}

std::optional<SimulateResult> find_output(const fs::path& out, bool force, const Json& provenance,
                                          const std::vector<fs::path>& sources, const WillHold& will_hold) {
  if (!is_made_already(out, force, provenance, sources, will_hold)) return std::nullopt;
  SimulateResult result;
  result.already_there = true;
  const FramesView view(out);
  for (const Recording& recording : view.recordings()) {
    ++result.recordings;
    result.frames += recording.frames;
    result.attack_frames += recording.attack_frames;
  }
  return result;
}

}  // namespace plimsoll
