#include "can/capture/frame_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "can/capture/fields.h"
#include "memory/heap_bytes.h"

namespace plimsoll {

size_t PeekedStream::read(char* data, size_t bytes) {
  const size_t first = std::min(bytes, held_ - given_);
  std::copy_n(head_ + given_, first, data);
  given_ += first;
  return first < bytes ? first + stream_->read(data + first, bytes - first) : first;
}

void FrameTaker::refuse(int64_t position, const std::string& found, const std::string& expected) const {
  throw InputError(fmt::format("{}: byte {}: found {}, expected {}", file_, position, found, expected));
}

void FrameTaker::allow_cut(int64_t position) const {
  if (options_.refuse_truncated)
    refuse(position, "a capture that is cut off there",
           "all of it; fetch the file again, or read it up to there with --truncated read");
}

void FrameTaker::name_channel(uint32_t channel, std::string name) {
  constexpr int64_t kNode = 80;  // Bytes of a map node.
  charge_.add(kNode + heap_bytes(name));
  names_[channel] = std::move(name);
  any_ = false;
}

void FrameTaker::forget_channels() {
  names_.clear();
  charge_.shrink(0);
  any_ = false;
}

void FrameTaker::choose(uint32_t channel) {
  any_ = true;
  channel_ = channel;
  const auto named = names_.find(channel);
  name_ = named == names_.end() ? std::to_string(channel) : named->second;
  taken_ = options_.channel.empty() || name_ == options_.channel;
}

void FrameTaker::refuse_frame(const RawFrame& frame, int64_t position, const FrameBatch& out) const {
  if (frame.time_ns < 0) refuse(position, "a time before 1970", "a later one");
  const LineError wrong = too_long(nullptr, out.width);
  const std::string found = fmt::format("a payload of {} bytes", frame.length);
  if (wrong.is_too_long)
    throw PayloadTooLong(
        fmt::format("{}: byte {}: found {}, expected {}", file_, position, found, wrong.expected));
  refuse(position, found, wrong.expected);
}

namespace {

// Refuses databases of python-can's SqliteWriter. The converter of python-can requires the ending .db.
[[noreturn]] void refuse_database(const std::filesystem::path& path) {
  throw InputError(fmt::format(
      "{}: is an SQLite database, which is not supported; convert it to a log with python-can: python -m "
      "can.logconvert drive.db drive.log",
      path.string()));
}

}  // namespace

std::unique_ptr<FrameReader> FrameReader::open(const std::filesystem::path& path,
                                               const FormatOptions& options,
                                               std::unique_ptr<InputStream>& stream) {
  auto peeked = std::make_unique<PeekedStream>(std::move(stream));
  const std::string_view head = peeked->head();
  const auto is = [&](const char* name, bool fits) {
    if (options.name == name && !fits)
      throw InputError(fmt::format("{}: its first bytes are not those of {}", path.string(), name));
    return fits && (options.name == kAnyFormat || options.name == name);
  };
  if (is("blf", head.starts_with("LOGG"))) return open_blf(path.string(), options, std::move(peeked));
  if (is("mf4", head.starts_with("MDF     ") || head.starts_with("UnFinMF "))) return open_mf4(path, options);
  using namespace std::string_view_literals;
  if (head.starts_with("SQLite format 3\0"sv)) refuse_database(path);
  bool is_pcap = false;
  for (const std::string_view magic : {"\xD4\xC3\xB2\xA1"sv, "\xA1\xB2\xC3\xD4"sv, "\x4D\x3C\xB2\xA1"sv,
                                       "\xA1\xB2\x3C\x4D"sv, "\x0A\x0D\x0D\x0A"sv})
    is_pcap |= head.starts_with(magic);
  if (is("pcap", is_pcap)) return open_pcap(path.string(), options, std::move(peeked));
  stream = std::move(peeked);
  return nullptr;
}

}  // namespace plimsoll
