#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "can/frames/frames.h"
#include "can/frames/verify_frames.h"
#include "can/write/convert.h"
#include "io/new_folder.h"
#include "io/replaceable.h"
#include "store/column_check.h"

namespace plimsoll {
namespace {

constexpr int64_t kFramesAtOnce = 1 << 14;

[[noreturn]] void refuse(const ConvertOptions& options, const Recording& recording, const std::string& why) {
  throw InputError(fmt::format("{}: recording '{}': {}", options.source.string(), recording.path(), why));
}

// Whether a split or a name stays below the output folder. A split becomes a folder and a name becomes a
// file, and the manifest of an untrusted set may hold other paths.
bool is_plain(const std::string& path) {
  const std::filesystem::path parts(path);
  return !path.empty() && path.find('\0') == std::string::npos && parts.is_relative() &&
         std::ranges::all_of(parts,
                             [](const auto& part) { return !part.empty() && part != "." && part != ".."; });
}

void require_writable(const ConvertOptions& options, const Recording& recording, bool labels) {
  if (!is_plain(recording.split) || !is_plain(recording.name) ||
      recording.name.find('/') != std::string::npos)
    refuse(options, recording, "cannot become the name of a file");
  if (!recording.has_time) refuse(options, recording, "has no times, but a capture needs them");
  if (!recording.has_payload) refuse(options, recording, "has no payloads, but a capture needs them");
  if (options.to->optional_labels && recording.labelled != labels)
    refuse(options, recording,
           "its frames are labelled and those of another recording are not, or vice versa; candump is read "
           "either with or without labels");
}

// Writes merged channels in runs of frames of one channel.
void write(const FrameSpans& frames, const Recording& recording, CaptureWriter& writer) {
  if (frames.channel.empty()) return writer.append(frames, recording.channel.value_or(""));
  for (int64_t first = 0, end = 0; first < frames.size(); first = end) {
    const uint8_t channel = frames.channel[static_cast<size_t>(first)];
    if (channel >= recording.channels.size())
      throw InputError(fmt::format("channel {} is not among its {}; the data set is damaged, make it again",
                                   channel, recording.channels.size()));
    for (end = first + 1; end < frames.size() && frames.channel[static_cast<size_t>(end)] == channel;) ++end;
    writer.append(frames.part(first, end - first), recording.channels[channel]);
  }
}

}  // namespace

ConvertResult convert_frames(const ConvertOptions& options,
                             const std::function<void(int64_t, int64_t)>& progress) {
  const FramesView view(options.source);
  const std::vector<Recording>& recordings = view.recordings();
  std::set<std::filesystem::path> names;
  for (const Recording& recording : recordings)
    names.insert(std::filesystem::path(recording.split) / (recording.name + options.to->ending));
  require_free(options.out, options.force, {options.source},
               [&](const std::filesystem::path& file) { return names.contains(file); });
  check_columns(view.set());
  require_sound(view);
  ConvertResult result;
  result.out = options.out;
  result.fd = view.frames().width > kPayloadBytes;
  result.merged = !view.frames().channel.empty();
  result.labels = options.to->optional_labels && !recordings.empty() && recordings[0].labelled;
  NewFolder folder(options.out, options.force);
  for (const Recording& recording : recordings) {
    require_writable(options, recording, result.labels);
    const FrameSpans frames = view.frames().part(recording.first_frame, recording.frames);
    File file = File::create(folder.add_folder(recording.split) / (recording.name + options.to->ending),
                             folder.files());
    CaptureWriter writer(*options.to, file, {.labels = result.labels, .leave_out = options.leave_out});
    for (int64_t done = 0; done < recording.frames; done += kFramesAtOnce) {
      const int64_t count = std::min(kFramesAtOnce, recording.frames - done);
      try {
        write(frames.part(done, count), recording, writer);
      } catch (const InputError& error) {
        refuse(options, recording, error.what());
      }
      progress(result.frames += count, view.frames().size());
    }
    writer.finish();
    file.sync();
    result.losses.add(writer.losses());
    ++result.recordings;
  }
  folder.publish();
  return result;
}

}  // namespace plimsoll
