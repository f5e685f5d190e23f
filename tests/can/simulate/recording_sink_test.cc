#include "can/simulate/recording_sink.h"

#include <gtest/gtest.h>

#include "can/frames/made_up_frames.h"
#include "support/fault_trials.h"

namespace plimsoll {
namespace {

// Writes two recordings in two splits.
FaultTrials::Step write_text_of(const FrameSpans& frames, const char* format) {
  return [=](FileSystem& files) {
    CaptureSink sink("/place/captures", true, written_format(format), files);
    for (const char* split : {"train/01", "test"}) {
      Recording recording;
      recording.name = "benign-1";
      recording.split = split;
      sink.begin(recording);
      sink.append(frames);
      sink.end(recording);
    }
    sink.publish();
  };
}

TEST(CaptureSink, LeavesTheOldCapturesOrTheNewWhateverFails) {
  constexpr int64_t kOverABuffer = 8000;  // Number of frames whose text exceeds a buffer.
  const FrameColumns columns = made_up_frames(kOverABuffer, 1);
  const auto first = [&](int64_t count) { return columns.spans().part(0, count); };
  for (const char* const format : {"csv", "candump"}) {
    FaultTrials(
        "/place/captures", [](FileSystem&) {}, write_text_of(columns.spans(), format))
        .run();
    FaultTrials("/place/captures", write_text_of(first(10), format), write_text_of(first(20), format)).run();
  }
}

}  // namespace
}  // namespace plimsoll
