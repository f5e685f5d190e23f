#include "ingest/write/capture_writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/shown.h"
#include "ingest/write/format_writer.h"
#include "io/file_ending.h"

namespace plimsoll {
namespace {

using Channels = WrittenFormat::Channels;

constexpr int64_t kMillisecond = 1'000'000;
constexpr size_t kLongestName = 64;
constexpr const char* kDefaultChannel = "vcan0";
constexpr const char* kMissing[] = {"remote", "error", "fd"};

constexpr WrittenFormat kFormats[] = {
    {.name = "csv",
     .ending = ".csv",
     .make = write_csv,
     .remote = false,
     .error = false,
     .flags = 0,
     .labels = true,
     .channels = Channels::none},
    {.name = "candump", .ending = ".log", .make = write_candump, .channels = Channels::words},
    {.name = "blf", .ending = ".blf", .make = write_blf, .error_flags = 0, .from_start = true},
    {.name = "mf4",
     .ending = ".mf4",
     .make = write_mf4,
     .last_channel = 255,
     .last_ns = 7'000'000'000'000'000'000,
     .exact_ns = int64_t{1} << 51},
    {.name = "asc",
     .ending = ".asc",
     .make = write_asc,
     .error_details = false,
     .error_flags = 0,
     .from_start = true},
    {.name = "trc", .ending = ".trc", .make = write_trc, .error = false, .from_start = true},
    {.name = "pcapng", .ending = ".pcapng", .make = write_pcapng, .channels = Channels::words},
    {.name = "gvret",
     .ending = ".csv",
     .make = write_gvret,
     .remote = false,
     .error = false,
     .fd = false,
     .flags = kFrameSent,
     .first_channel = 0,
     .last_channel = 255,
     .tick_ns = 1000},
    {.name = "python-can",
     .ending = ".csv",
     .make = write_python_can,
     .flags = 0,
     .error_flags = 0,
     .channels = Channels::none},
    {.name = "sqlite",
     .ending = ".db",
     .make = write_sqlite,
     .flags = 0,
     .error_flags = 0,
     .channels = Channels::none,
     .tick_ns = 1000},
};

// The counts by name and as text: the one list that adding and printing use.
template <typename Losses, typename Visit>
void visit_losses(Losses& losses, Visit&& visit) {
  visit("labels", "labels of {} frames", losses.labels);
  visit("flags", "direction or flags of CAN FD of {} frames", losses.flags);
  visit("error_details", "details of {} error frames", losses.error_details);
  visit("rounded_times", "{} times, which are rounded", losses.rounded_times);
  visit("remote_frames", "{} remote frames", losses.remote_frames);
  visit("error_frames", "{} error frames", losses.error_frames);
  visit("fd_frames", "{} frames of CAN FD", losses.fd_frames);
}

}  // namespace

std::span<const WrittenFormat> written_formats() {
  return kFormats;
}

const WrittenFormat& written_format(const std::string& name) {
  const auto* const found =
      std::ranges::find_if(kFormats, [&](const WrittenFormat& format) { return name == format.name; });
  if (found != std::end(kFormats)) return *found;
  std::vector<std::string> names;
  for (const WrittenFormat& format : kFormats) names.emplace_back(format.name);
  throw UsageError(fmt::format("--to '{}' is not known; expected {}", name, fmt::join(names, ", ")));
}

const WrittenFormat* format_of_ending(const std::filesystem::path& path) {
  std::string ending = lower_ending(path);
  if (ending == ".sqlite") ending = ".db";
  const auto* const found =
      std::ranges::find_if(kFormats, [&](const WrittenFormat& format) { return ending == format.ending; });
  return found == std::end(kFormats) ? nullptr : found;
}

uint8_t OutgoingFrame::dlc() const {
  constexpr uint8_t kLengths[] = {12, 16, 20, 24, 32, 48, 64};
  if (length <= 8) return length;
  return static_cast<uint8_t>(9 + (std::ranges::lower_bound(kLengths, length) - kLengths));
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
    : format_(format),
      leave_out_(options.leave_out),
      start_ns_(options.start_ns / kMillisecond * kMillisecond) {
  for (const std::string& kind : leave_out_)
    if (std::ranges::find(kMissing, kind) == std::end(kMissing))
      throw UsageError(fmt::format("--leave-out '{}' of a capture is not known; expected {}", kind,
                                   fmt::join(kMissing, ", ")));
  // In candump a label stands where the direction would.
  if (options.labels && !format_.labels) format_.flags &= ~kFrameSent;
  format_.labels |= options.labels;
  format_.error_flags &= format_.flags;
  writer_ = format.make({file, start_ns_, options.width, options.labels});
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

RenamedChannels CaptureWriter::renamed_channels() const {
  RenamedChannels renamed;
  for (const auto& channel : channels_)
    if (!channel->name.empty() && channel->name != channel->written)
      renamed.emplace_back(channel->name, channel->written);
  return renamed;
}

const CaptureWriter::Channel& CaptureWriter::channel(const std::string& name) {
  for (const auto& known : channels_)
    if (known->name == name) return *known;
  if (format_.channels == Channels::none && !channels_.empty())
    throw InputError(
        fmt::format("channels '{}' and '{}': {} cannot tell one from another; choose one with --channel, or "
                    "another format "
                    "with --to, such as candump",
                    channels_[0]->name, name, format_.name));
  auto made = std::make_unique<Channel>(Channel{name, name, static_cast<uint32_t>(channels_.size())});
  if (format_.channels == Channels::words) {
    if (name.empty()) made->written = kDefaultChannel;
    if (made->written.size() > kLongestName ||
        std::ranges::any_of(made->written, [](char c) { return static_cast<unsigned char>(c) <= ' '; }))
      throw InputError(
          fmt::format("channel '{}': {} has names of one word, of at most {} characters; choose "
                      "another format with --to, such as blf",
                      shown(name), format_.name, kLongestName));
  }
  if (format_.channels == Channels::numbers) {
    const auto is_taken = [&](uint32_t number) {
      return std::ranges::any_of(channels_, [&](const auto& known) { return known->number == number; });
    };
    uint32_t number = 0;
    const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (failed != std::errc() || end != name.data() + name.size() || number < format_.first_channel ||
        number > format_.last_channel || is_taken(number))
      for (number = format_.first_channel; is_taken(number);) ++number;
    made->number = number;
    made->written = std::to_string(number);
  }
  return *channels_.emplace_back(std::move(made));
}

bool CaptureWriter::holds(uint32_t can_id, bool fd) {
  const auto check = [&](bool held, Missing missing, int64_t& count) {
    if (held) return true;
    if (std::ranges::find(leave_out_, kMissing[static_cast<size_t>(missing)]) == leave_out_.end())
      refuse_kind(can_id, missing);
    ++count;
    return false;
  };
  if ((can_id & kCanError) != 0) return check(format_.error, Missing::error, losses_.error_frames);
  if ((can_id & kCanRemote) != 0) return check(format_.remote, Missing::remote, losses_.remote_frames);
  return !fd || check(format_.fd, Missing::fd, losses_.fd_frames);
}

void CaptureWriter::refuse_kind(uint32_t can_id, Missing missing) const {
  std::vector<std::string> others;
  for (const WrittenFormat& format : kFormats)
    if (missing == Missing::remote ? format.remote : missing == Missing::error ? format.error : format.fd)
      others.emplace_back(format.name);
  const char* const kind = kMissing[static_cast<size_t>(missing)];
  throw InputError(fmt::format(
      "a frame of ID {:08X}: {} has no {} frames; leave them out with --leave-out {}, or "
      "choose another format: --to {}",
      can_id, format_.name, missing == Missing::fd ? "CAN FD" : kind, kind, fmt::join(others, ", ")));
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
                      channel.number,
                      channel.written};
  if (frame.time_ns < 0)
    throw InputError(fmt::format("a frame at {} ns: captures have no times before 1970", frame.time_ns));
  if (frame.time_ns > format_.last_ns)
    throw InputError(fmt::format("a frame at {} ns: {} has no times after {} ns", frame.time_ns, format_.name,
                                 format_.last_ns));
  if (frame.length > frames.width || (remote && frame.length > 0) || (error && (remote || frame.length > 8)))
    throw InputError(
        fmt::format("a frame of ID {:08X} with {} bytes, which no capture can tell", id, frame.length));
  if (!holds(id, frame.is_fd())) return;
  if (format_.labels && frame.label > 1)
    throw InputError(
        fmt::format("a frame without a label (255), and {} has one for each; label all 0 with "
                    "--benign, or choose another format, such as --to candump",
                    format_.name));
  losses_.labels += !format_.labels && frame.label <= 1;
  // CAN FD has no remote and no error frames.
  const uint8_t kept = error ? format_.error_flags : remote ? format_.flags & kFrameSent : format_.flags;
  const uint8_t told = frame.length > kPayloadBytes ? kFrameFd : uint8_t{0};  // by its length
  losses_.flags += (frame.flags & ~kept & ~told) != 0;
  frame.flags &= kept;
  losses_.error_details += error && !format_.error_details && (frame.id() != 0 || frame.length > 0);
  const int64_t past = frame.time_ns % format_.tick_ns;
  losses_.rounded_times += past != 0 || frame.time_ns - start_ns_ > format_.exact_ns;
  frame.time_ns += past * 2 >= format_.tick_ns && past != 0 ? format_.tick_ns - past : -past;
  writer_->add(frame);
}

}  // namespace plimsoll
