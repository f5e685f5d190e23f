#include "ingest/simulate/frame_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace plimsoll {
namespace {

constexpr size_t kBufferBytes = 256 << 10;
constexpr size_t kLongestChannel = 64;
constexpr size_t kLongestLine = 256;
constexpr std::string_view kCsvHeader = "timestamp,arbitration_id,data_field,attack\n";

// Puts characters one after the other; the caller sees to it that there is room.
class Pen {
 public:
  explicit Pen(char* at) : at_(at) {}

  void put(char c) { *at_++ = c; }
  void put(std::string_view text) { at_ = std::copy(text.begin(), text.end(), at_); }
  void hex(uint32_t value, int digits) {
    for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) put("0123456789ABCDEF"[value >> shift & 15]);
  }
  void decimal(int64_t value, int digits) {
    for (int i = digits - 1; i >= 0; --i, value /= 10) at_[i] = static_cast<char>('0' + value % 10);
    at_ += digits;
  }
  // Seconds, in at least so many digits, and after the point six, or nine where six are not enough.
  void time(int64_t time_ns, int digits) {
    const int64_t seconds = time_ns / 1'000'000'000;
    int64_t limit = 10;
    for (int i = 1; i < digits; ++i) limit *= 10;
    for (; seconds >= limit; limit *= 10) ++digits;
    decimal(seconds, digits);
    put('.');
    const int64_t part = time_ns % 1'000'000'000;
    part % 1000 == 0 ? decimal(part / 1000, 6) : decimal(part, 9);
  }
  void id(uint32_t can_id, uint32_t kept_flags) {
    if ((can_id & (kCanExtended | kCanError)) != 0)
      hex(can_id & (0x1FFFFFFF | kept_flags), 8);
    else
      hex(can_id & 0x7FF, 3);
  }
  void payload(const uint8_t* data, uint8_t length) {
    for (uint8_t i = 0; i < length; ++i) hex(data[i], 2);
  }
  char* at() const { return at_; }

 private:
  char* at_;
};

}  // namespace

const char* text_ending(TextFormat format) {
  return format == TextFormat::csv ? ".csv" : ".log";
}

FrameTextWriter::FrameTextWriter(const std::filesystem::path& path, TextFormat format, std::string channel,
                                 FileSystem& files, bool labels)
    : file_(File::create(path, files)),
      format_(format),
      channel_(std::move(channel)),
      labels_(labels),
      buffer_(kBufferBytes) {
  if (channel_.empty() || channel_.size() > kLongestChannel)
    throw UsageError(fmt::format("a channel's name has 1 to {} characters", kLongestChannel));
  if (std::ranges::any_of(channel_, [](char c) { return static_cast<unsigned char>(c) <= ' '; }))
    throw UsageError("a channel's name is one word");
  if (format_ == TextFormat::csv)
    filled_ = static_cast<size_t>(std::copy(kCsvHeader.begin(), kCsvHeader.end(), buffer_.begin()) -
                                  buffer_.begin());
}

void FrameTextWriter::append(const FrameSpans& frames) {
  for (size_t i = 0; i < frames.time_ns.size(); ++i) {
    const uint32_t id = frames.can_id[i];
    const uint8_t flags = frames.flags.empty() ? 0 : frames.flags[i];
    const uint8_t* const data = &frames.data[i * static_cast<size_t>(frames.width)];
    if (frames.time_ns[i] < 0)
      throw InputError(fmt::format("a frame at {} ns: times before 1970 have no text", frames.time_ns[i]));
    if (frames.length[i] > frames.width)
      throw InputError(fmt::format("a frame of {} bytes in a set for {}", frames.length[i], frames.width));
    if (filled_ + kLongestLine + kLongestChannel > buffer_.size()) flush();
    Pen pen(buffer_.data() + filled_);
    if (format_ == TextFormat::csv) {
      if ((id & (kCanRemote | kCanError)) != 0 || frames.label[i] > 1)
        throw InputError(fmt::format(
            "frame of ID {:08X} with label {}: the CSV has no remote, error or unlabelled frames; "
            "candump has: --to candump",
            id, frames.label[i]));
      pen.time(frames.time_ns[i], 1);
      pen.put(',');
      pen.id(id, 0);
      pen.put(',');
      pen.payload(data, frames.length[i]);
      pen.put(',');
      pen.put(static_cast<char>('0' + frames.label[i]));
    } else {
      pen.put('(');
      pen.time(frames.time_ns[i], 10);
      pen.put(") ");
      pen.put(channel_);
      pen.put(' ');
      pen.id(id, kCanError);
      pen.put('#');
      if ((id & kCanRemote) != 0) {
        if (frames.length[i] > 0)
          throw InputError(fmt::format("a remote frame of ID {:08X} with {} bytes", id, frames.length[i]));
        pen.put('R');
      } else {
        if ((flags & kFrameFd) != 0 || frames.length[i] > kPayloadBytes) {
          pen.put('#');
          pen.hex(flags & (kFrameBrs | kFrameEsi), 1);
        }
        pen.payload(data, frames.length[i]);
      }
      if (!labels_ && (flags & kFrameSent) != 0) pen.put(" T");
      if (labels_) {
        if (frames.label[i] > 1)
          throw InputError(
              "an unlabelled frame in a recording with labels: a line tells of one or the other");
        pen.put(' ');
        pen.put(static_cast<char>('0' + frames.label[i]));
      }
    }
    pen.put('\n');
    filled_ = static_cast<size_t>(pen.at() - buffer_.data());
  }
}

void FrameTextWriter::flush() {
  file_.write(buffer_.data(), filled_);
  filled_ = 0;
}

void FrameTextWriter::finish() {
  flush();
  file_.sync();
}

}  // namespace plimsoll
