#include "can/write/capture_writer.h"
#include "fuzz/captures.h"
#include "fuzz/scratch.h"

namespace plimsoll {
namespace {

// The part of a frame that both formats can express.
struct SharedFrame {
  std::string channel;
  int64_t time_ns;
  uint32_t can_id;
  std::vector<uint8_t> data;
  int flags;
  bool operator==(const SharedFrame&) const = default;
};

void append_frames(const FrameBatch& frames, const WrittenFormat& format, std::vector<SharedFrame>& shared) {
  for (size_t i = 0; i < frames.frames(); ++i) {
    const uint8_t* const data = &frames.data[i * static_cast<size_t>(frames.width)];
    const bool has_channel = format.channels && !frames.channel.empty();
    shared.push_back({has_channel ? frames.channels[frames.channel[i]] : "",
                      frames.time_ns[i],
                      frames.can_id[i],
                      {data, data + frames.length[i]},
                      frames.flags.empty() ? 0 : frames.flags[i] & format.flags});
  }
}

// Reads the frames of a file in a format.
std::vector<SharedFrame> read_again(const std::filesystem::path& path, const WrittenFormat& format) {
  std::vector<CaptureFile> captures(1);
  captures[0].path = path;
  const FormatOptions options{.payload = 64};
  CaptureChunks chunks(captures, options);
  CaptureChunk chunk;
  ParsedChunk parsed;
  parsed.frames.width = 64;
  std::vector<SharedFrame> shared;
  while (chunks.next(chunk)) {
    parsed.frames.channels.clear();
    parse_chunk(chunk, false, parsed);
    expect(!parsed.error, "what was written is read");
    append_frames(parsed.frames, format, shared);
  }
  return shared;
}

void expect_written_well(const FrameBatch& frames, const WrittenFormat& format) {
  const auto path = Scratch::write(std::string("written") + format.ending, "");
  WriteLosses losses;
  if (!succeeds([&] {
        File file = File::create(path);
        CaptureWriter writer(format, file, {.leave_out = {"remote", "error"}});
        writer.append(frames);
        writer.finish();
        losses = writer.losses();
      }))
    return;
  losses.labels = 0;
  if (!losses.to_json().empty()) return;
  std::vector<SharedFrame> expected;
  append_frames(frames, format, expected);
  // A long payload is CAN FD, whether marked or not.
  for (SharedFrame& frame : expected)
    if (frame.data.size() > kPayloadBytes) frame.flags |= kFrameFd & format.flags;
  const bool is_read = succeeds(
      [&] { expect(read_again(path, format) == expected, "the frames that were written come back"); });
  expect(is_read, "what was written is read");
}

}  // namespace
}  // namespace plimsoll

// The input is lines of candump; their frames are written in csv and candump, and read again.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll;
  succeeds([&] {
    const Format candump = CaptureFormat::make({.name = "candump", .payload = 64}, "", "");
    FrameBatch frames = parse(candump, 64, text_of(data, size), true, true, true).frames;
    if (frames.frames() == 0) return;
    for (const char* const name : {"csv", "candump"}) {
      const WrittenFormat& format = written_format(name);
      std::ranges::fill(frames.label, format.labels ? uint8_t{0} : kUnlabelled);
      expect_written_well(frames, format);
    }
  });
  return 0;
}
