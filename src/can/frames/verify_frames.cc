#include "can/frames/verify_frames.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "store/verify.h"

namespace plimsoll {
namespace {

void verify(const FramesView& view, size_t max, std::vector<std::string>& wrong) {
  const FrameSpans& frames = view.frames();
  for (int64_t i = 0; i < frames.size() && wrong.size() < max; ++i) {
    const auto at = static_cast<size_t>(i);
    const uint8_t label = frames.label[at];
    if (label > 1 && label != kUnlabelled)
      wrong.push_back(fmt::format("frame {}: label {} is not 0, 1 or 255", i, label));
    if (frames.length[at] > frames.width) {
      wrong.push_back(fmt::format("frame {}: length {} is over {}", i, frames.length[at], frames.width));
      continue;
    }
    if (!frames.flags.empty() && frames.flags[at] > kFrameFlags)
      wrong.push_back(fmt::format("frame {}: flags {} are over {}", i, frames.flags[at], kFrameFlags));
    const auto payload =
        frames.data.subspan(at * static_cast<size_t>(frames.width), static_cast<size_t>(frames.width));
    if (std::any_of(payload.begin() + frames.length[at], payload.end(),
                    [](uint8_t byte) { return byte != 0; }))
      wrong.push_back(
          fmt::format("frame {}: bytes after its length of {} are not zero", i, frames.length[at]));
    const uint32_t id = frames.can_id[at] & ~(kCanExtended | kCanRemote | kCanError);
    // The ID of an error frame holds its error classes, up to bit 28.
    if ((frames.can_id[at] & (kCanExtended | kCanError)) == 0 && id > 0x7FF)
      wrong.push_back(fmt::format("frame {}: ID {:X} needs 29 bits but is not flagged as extended", i, id));
  }
  for (const Recording& recording : view.recordings()) {
    const FrameSpans part = frames.part(recording.first_frame, recording.frames);
    for (size_t i = 0; i < part.channel.size() && wrong.size() < max; ++i)
      if (part.channel[i] >= recording.channels.size())
        wrong.push_back(fmt::format("frame {}: channel {} is not among the {} of recording {}",
                                    recording.first_frame + static_cast<int64_t>(i), part.channel[i],
                                    recording.channels.size(), recording.path()));
    const auto labels = part.label;
    const int64_t attacks = std::count(labels.begin(), labels.end(), uint8_t{1});
    if (attacks != recording.attack_frames)
      wrong.push_back(fmt::format("recording {}: has {} attack frames, the manifest says {}",
                                  recording.path(), attacks, recording.attack_frames));
  }
}

}  // namespace

void verify_frames(const std::filesystem::path& folder, std::vector<std::string>& wrong) {
  verify(FramesView(folder), kMaxFindings, wrong);
}

void require_sound(const FramesView& frames) {
  std::vector<std::string> wrong;
  verify(frames, 1, wrong);
  if (!wrong.empty())
    throw InputError(fmt::format("{}: {}; make the set again (--force), `plimsoll verify` lists all defects",
                                 frames.set().folder().string(), wrong.front()));
}

}  // namespace plimsoll
