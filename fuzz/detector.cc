#include <cmath>

#include "can/live/stream_detector.h"
#include "fuzz/property.h"
#include "fuzz/scratch.h"

namespace plimsoll {
namespace {

// A few hundred frames of known and unknown IDs, sometimes a window's length apart.
FrameBatch made_frames() {
  FrameBatch frames;
  for (int64_t f = 0; f < 400; ++f) {
    frames.time_ns.push_back(f * 1'000'000 + f / 100 * 3'000'000'000);
    frames.can_id.push_back(static_cast<uint32_t>(0x100 + f * f % 7));
    frames.length.push_back(8);
    for (int64_t k = 0; k < kPayloadBytes; ++k) frames.data.push_back(static_cast<uint8_t>(f * k));
    frames.label.push_back(kUnlabelled);
    frames.channel.push_back(static_cast<uint8_t>(f % 3));
  }
  return frames;
}

}  // namespace
}  // namespace plimsoll

// Any file is a detector that evaluates frames, or is refused.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll;
  static const FrameBatch frames = made_frames();
  succeeds([&] {
    DetectOptions options;
    if (size % 2 == 0) options.threshold = 0.0F;  // Otherwise the threshold of the file is used.
    StreamDetector detector(Scratch::write("x.safetensors", text_of(data, size)), options);
    for (int recording = 0; recording < 2; ++recording) {
      detector.begin({});
      const bool merged = !detector.channels().empty();
      const int64_t taken = detector.add(merged ? frames.merged_spans() : frames.spans(), {"can0", "can1"});
      expect(taken > 0 && taken <= frames.spans().size(), "a stream takes frames");
      detector.end();
      WindowResult result;
      for (int windows = 0; windows < 100 && detector.next(result); ++windows) {
        const MessageKeys ids = detector.node_ids();
        expect(static_cast<int64_t>(ids.size()) == detector.graph().nodes(), "a node has an ID");
        for (const MessageKey id : ids)
          expect(detector.channel_of(id).empty() != merged, "a node of merged channels has one");
        for (const auto& [node, share] : detector.focus(5).nodes)
          expect(node >= 0 && node < detector.graph().nodes(), "attention points at a node");
        expect(result.alarm == (result.score > detector.threshold()) || std::isnan(result.score),
               "an alarm is a score above the threshold");
      }
    }
  });
  return 0;
}
