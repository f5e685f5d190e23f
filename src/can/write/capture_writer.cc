#include "can/write/capture_writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/shown.h"
#include "can/write/text_writer.h"
#include "io/file_ending.h"

namespace plimsoll {
namespace {

constexpr int64_t kLatestNs = 9'000'000'000'000'000'000;
constexpr size_t kLongestName = 64;
constexpr const char* kDefaultChannel = "vcan0";
constexpr const char* kRemote = "remote";
constexpr const char* kError = "error";

constexpr WrittenFormat kFormats[] = {
    {.name = "csv",
     .ending = ".csv",
     .make = write_csv,
     .remote = false,
     .error = false,
     .flags = 0,
     .labels = true,
     .channels = false},
    {.name = "candump", .ending = ".log", .make = write_candump, .optional_labels = true},
};

// Endings of captures that python-can converts from candump. The next list has those of other captures that
// Plimsoll only reads.
constexpr const char* kOfPythonCan[] = {".blf", ".asc", ".trc", ".mf4", ".db"};
constexpr const char* kOnlyRead[] = {".sqlite", ".sqlite3", ".pcap", ".pcapng"};

std::string how_to_convert(const char* ending) {
  return fmt::format(
      "expected csv or candump; write candump, and make blf, asc, trc, mf4 or db of it with python-can: "
      "python -m can.logconvert drive.log drive{}",
      ending);
}

// Visits the counts by name and as text. Adding and printing both use this list.
template <typename Losses, typename Visit>
void visit_losses(Losses& losses, Visit&& visit) {
  visit("labels", "labels of {} frames", losses.labels);
  visit("flags", "direction or flags of CAN FD of {} frames", losses.flags);
  visit("remote_frames", "{} remote frames", losses.remote_frames);
  visit("error_frames", "{} error frames", losses.error_frames);
}

}  // namespace

const WrittenFormat& written_format(const std::string& name) {
  const auto* const found =
      std::ranges::find_if(kFormats, [&](const WrittenFormat& format) { return name == format.name; });
  if (found != std::end(kFormats)) return *found;
  const auto* const made =
      std::ranges::find_if(kOfPythonCan, [&](const char* ending) { return "." + name == ending; });
  const char* const ending = made == std::end(kOfPythonCan) ? kOfPythonCan[0] : *made;
  throw UsageError(fmt::format("--to '{}' is not written; {}", name, how_to_convert(ending)));
}

const WrittenFormat* format_of_ending(const std::filesystem::path& path) {
  const std::string ending = lower_ending(path);
  const auto is_ending = [&](const char* known) { return ending == known; };
  const auto* const found =
      std::ranges::find_if(kFormats, [&](const WrittenFormat& format) { return is_ending(format.ending); });
  if (found != std::end(kFormats)) return found;
  const auto* const made = std::ranges::find_if(kOfPythonCan, is_ending);
  if (made != std::end(kOfPythonCan) || std::ranges::any_of(kOnlyRead, is_ending))
    throw UsageError(fmt::format("{}: {} is not written; {}", path.string(), ending,
                                 how_to_convert(made == std::end(kOfPythonCan) ? kOfPythonCan[0] : *made)));
  return nullptr;
}

void WriteLosses::add(const WriteLosses& other) {
  std::vector<int64_t> counts;
  visit_losses(other, [&](const char*, const char*, int64_t count) { counts.push_back(count); });
  size_t i = 0;
  visit_losses(*this, [&](const char*, const char*, int64_t& count) { count += counts[i++]; });
}

Json WriteLosses::to_json() const {
  Json json = Json::object();
  visit_losses(*this, [&](const char* name, const char*, int64_t count) {
    if (count > 0) json[name] = count;
  });
  return json;
}

std::string WriteLosses::text() const {
  std::vector<std::string> parts;
  visit_losses(*this, [&](const char*, const char* text, int64_t count) {
    if (count > 0) parts.push_back(fmt::format(fmt::runtime(text), count));
  });
  return fmt::format("{}", fmt::join(parts, ", "));
}

CaptureWriter::CaptureWriter(const WrittenFormat& format, File& file, const WriteOptions& options)
    : format_(format), leave_out_(options.leave_out) {
  for (const std::string& kind : leave_out_)
    if (kind != kRemote && kind != kError)
      throw UsageError(fmt::format("--leave-out '{}' of a capture is not known; expected {} or {}", kind,
                                   kRemote, kError));
  // In candump a label replaces the direction.
  if (options.labels && !format_.labels) format_.flags &= ~kFrameSent;
  format_.labels |= options.labels;
  writer_ = format.make(file, options.labels);
}

CaptureWriter::~CaptureWriter() = default;

void CaptureWriter::append(const FrameBatch& frames) {
  const FrameSpans spans = frames.spans();
  if (frames.channel.empty()) return append(spans, "");
  std::vector<const Channel*> known(frames.channels.size(), nullptr);
  for (size_t i = 0; i < frames.frames(); ++i) {
    const Channel*& its = known[frames.channel[i]];
    if (its == nullptr) its = &channel(frames.channels[frames.channel[i]]);
    add(spans, i, *its);
  }
}

void CaptureWriter::append(const FrameSpans& frames, const std::string& name) {
  if (frames.size() == 0) return;
  const Channel& its = channel(name);
  for (size_t i = 0; i < frames.time_ns.size(); ++i) add(frames, i, its);
}

void CaptureWriter::finish() {
  writer_->finish();
}

const CaptureWriter::Channel& CaptureWriter::channel(const std::string& name) {
  for (const auto& known : channels_)
    if (known->name == name) return *known;
  if (!format_.channels && !channels_.empty())
    throw InputError(
        fmt::format("channels '{}' and '{}': {} does not record the channel; choose one with --channel, or "
                    "another format with --to, such as candump",
                    channels_[0]->name, name, format_.name));
  const std::string& written = name.empty() ? kDefaultChannel : name;
  if (format_.channels && (written.size() > kLongestName || std::ranges::any_of(written, [](char c) {
                             return static_cast<unsigned char>(c) <= ' ';
                           })))
    throw InputError(
        fmt::format("channel '{}': {} needs names of one word with at most {} characters; give it another "
                    "name when the capture is read, with --name-channel",
                    shown(name), format_.name, kLongestName));
  return *channels_.emplace_back(std::make_unique<Channel>(Channel{name, written}));
}

bool CaptureWriter::holds(uint32_t can_id) {
  const auto check = [&](bool held, const char* kind, int64_t& count) {
    if (held) return true;
    if (std::ranges::find(leave_out_, kind) == leave_out_.end()) refuse_kind(can_id, kind);
    ++count;
    return false;
  };
  if ((can_id & kCanError) != 0) return check(format_.error, kError, losses_.error_frames);
  if ((can_id & kCanRemote) != 0) return check(format_.remote, kRemote, losses_.remote_frames);
  return true;
}

void CaptureWriter::refuse_kind(uint32_t can_id, const char* kind) const {
  throw InputError(
      fmt::format("a frame of ID {:08X}: {} has no {} frames; leave them out with --leave-out {}, or choose "
                  "another format: --to candump",
                  can_id, format_.name, kind, kind));
}

void CaptureWriter::add(const FrameSpans& frames, size_t i, const Channel& channel) {
  const uint32_t id = frames.can_id[i];
  const bool error = (id & kCanError) != 0;
  const bool remote = (id & kCanRemote) != 0;
  OutgoingFrame frame{frames.time_ns[i],
                      id,
                      &frames.data[i * static_cast<size_t>(frames.width)],
                      frames.length[i],
                      frames.flags.empty() ? uint8_t{0} : frames.flags[i],
                      frames.label[i],
                      channel.written};
  if (frame.time_ns < 0)
    throw InputError(fmt::format("a frame at {} ns: captures have no times before 1970", frame.time_ns));
  if (frame.time_ns > kLatestNs)
    throw InputError(
        fmt::format("a frame at {} ns: captures have no times after {} ns", frame.time_ns, kLatestNs));
  if (frame.length > frames.width || (remote && frame.length > 0) || (error && (remote || frame.length > 8)))
    throw InputError(fmt::format("a frame of ID {:08X} with {} bytes, which no capture format can hold", id,
                                 frame.length));
  if (!holds(id)) return;
  if (format_.labels && frame.label > 1)
    throw InputError(
        fmt::format("a frame has no label (255), but {} needs one for each frame; label all frames 0 with "
                    "--benign, or choose another format, such as --to candump",
                    format_.name));
  losses_.labels += !format_.labels && frame.label <= 1;
  // CAN FD has no remote and no error frames, so remote and error frames keep only the direction.
  const uint8_t kept = error || remote ? format_.flags & kFrameSent : format_.flags;
  const uint8_t implied = frame.length > kPayloadBytes ? kFrameFd : uint8_t{0};  // The length implies CAN FD.
  losses_.flags += (frame.flags & ~kept & ~implied) != 0;
  frame.flags &= kept;
  writer_->add(frame);
}

}  // namespace plimsoll
