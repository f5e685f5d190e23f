#pragma once

#include <optional>
#include <string>

#include "base/hash.h"
#include "can/capture/frame_reader.h"
#include "fuzz/captures.h"
#include "fuzz/scratch.h"

namespace plimsoll {

constexpr size_t kMaxRead = 1'000'000;  // Maximum number of frames: more than a file of 8 KiB unpacks to.

/// Returns a hash of the frames that a reader returns in chunks of about `max`, and of where the file is
/// truncated; nothing if it ends with an error.
inline std::optional<std::string> read_file(const std::filesystem::path& path, const FormatOptions& options,
                                            size_t max) {
  std::string hash;
  const bool good = succeeds([&] {
    FrameBatch frames;
    frames.width = options.payload;
    std::unique_ptr<InputStream> stream = InputStream::open(path, AtCut::stop);
    const std::unique_ptr<FrameReader> reader = FrameReader::open(path, options, stream);
    expect(reader != nullptr, "a format that is named has its reader, or an error");
    LineNotes notes;
    while (frames.frames() < kMaxRead && reader->read(max, frames, notes)) {
    }
    expect(reader->facts().name == options.name, "the name is that of the format");
    frames.truncate(std::min(frames.frames(), kMaxRead));
    expect_sound(frames);
    Hasher hasher;
    const FrameSpans columns = frames.spans();
    hasher.add(columns.time_ns);
    hasher.add(columns.can_id);
    hasher.add(columns.length);
    hasher.add(columns.data);
    const auto& truncation = reader->truncation();
    expect(!truncation || (truncation->at >= 0 && truncation->left_out >= 0), "a file is cut off within it");
    const std::string counts = notes.to_json().dump() + (truncation ? std::to_string(truncation->at) : "");
    hasher.add(counts.data(), counts.size());
    hash = hasher.hex64();
  });
  return good ? std::optional(hash) : std::nullopt;
}

/// Reads a file of a named format after a digit for the options: frames must be sound, and the same for any
/// chunk size.
inline int fuzz_reader(const uint8_t* data, size_t size, const char* name) {
  if (size == 0) return 0;
  FormatOptions options = options_of(static_cast<char>(data[0]));
  if (!options.channel.empty()) options.channel = "1";
  options.name = name;
  const auto path = Scratch::write(std::string("capture.") + name, text_of(data + 1, size - 1));
  const std::optional<std::string> at_once = read_file(path, options, 8192);
  const std::optional<std::string> by_one = read_file(path, options, 1);
  expect(at_once == by_one, "pieces do not decide what is read, or what is an error");
  return 0;
}

}  // namespace plimsoll
