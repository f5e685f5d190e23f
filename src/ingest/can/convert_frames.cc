#include "ingest/can/convert_frames.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "io/new_folder.h"
#include "store/column_check.h"
#include "store/frames.h"

namespace plimsoll {
namespace {

constexpr int64_t kFramesAtOnce = 1 << 14;

[[noreturn]] void refuse(const ConvertOptions& options, const Recording& recording, const std::string& why) {
  throw InputError(fmt::format("{}: recording '{}': {}", options.frames.string(), recording.path(), why));
}

// A split is a path below the output and a name the name of a file in it: a manifest of others may say more.
bool is_plain(const std::string& path) {
  const std::filesystem::path parts(path);
  return !path.empty() && path.find('\0') == std::string::npos && parts.is_relative() &&
         std::ranges::all_of(parts,
                             [](const auto& part) { return !part.empty() && part != "." && part != ".."; });
}

void require_text(const ConvertOptions& options, const Recording& recording, bool labels) {
  if (!is_plain(recording.split) || !is_plain(recording.name) ||
      recording.name.find('/') != std::string::npos)
    refuse(options, recording, "cannot become the name of a file");
  if (!recording.channels.empty())
    refuse(options, recording, "has its channels merged; convert a data set made without --merge-channels");
  if (!recording.has_time) refuse(options, recording, "has no times, and a text would make some up");
  if (!recording.has_payload) refuse(options, recording, "has no payloads, and a text would make empty ones");
  if (options.format == TextFormat::candump && recording.labelled != labels)
    refuse(options, recording,
           "others of the set are labelled and it is not, or the other way round; candump is read with "
           "labels or without");
}

}  // namespace

ConvertResult convert_frames(const ConvertOptions& options,
                             const std::function<void(int64_t, int64_t)>& progress) {
  if (!options.force && std::filesystem::exists(options.out))
    throw Failure(options.out.string() + " exists already; give --force to replace it");
  const FramesView view(options.frames);
  check_columns(view.set());
  const std::vector<Recording>& recordings = view.recordings();
  ConvertResult result;
  result.fd = view.frames().width > kPayloadBytes;
  result.labels = options.format == TextFormat::candump && !recordings.empty() && recordings[0].labelled;
  NewFolder folder(options.out, options.force);
  for (const Recording& recording : recordings) {
    require_text(options, recording, result.labels);
    const std::filesystem::path split = folder.add_folder(recording.split);
    FrameTextWriter writer(split / (recording.name + text_ending(options.format)), options.format,
                           recording.channel.value_or(kDefaultChannel), folder.files(), result.labels);
    for (int64_t done = 0; done < recording.frames; done += kFramesAtOnce) {
      const int64_t count = std::min(kFramesAtOnce, recording.frames - done);
      try {
        writer.append(view.frames().part(recording.first_frame + done, count));
      } catch (const InputError& error) {
        refuse(options, recording, error.what());
      }
      progress(result.frames += count, view.frames().size());
    }
    writer.finish();
    ++result.recordings;
  }
  folder.publish();
  return result;
}

}  // namespace plimsoll
