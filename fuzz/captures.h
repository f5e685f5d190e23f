#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "can/capture/capture_chunks.h"
#include "can/capture/fields.h"
#include "fuzz/property.h"

namespace plimsoll {

using Format = std::shared_ptr<const CaptureFormat>;

/// Parses a part of a capture. The buffer has exactly the size of the text, so reading past it is detected.
inline ParsedChunk parse(const Format& format, int64_t width, std::string_view text, bool first, bool last,
                         bool skip) {
  CaptureChunk chunk;
  chunk.buffer.assign(text.begin(), text.end());
  chunk.text_bytes = text.size();
  chunk.first = first;
  chunk.last = last;
  chunk.format = format;
  ParsedChunk parsed;
  parsed.frames.width = width;
  parse_chunk(chunk, skip, parsed);
  return parsed;
}

/// Parses one line by CaptureFormat::parse; returns nothing if it is refused. `notes` has the time that
/// elapsed before it.
inline std::optional<FrameBatch> parse_line(const CaptureFormat& format, int64_t width, std::string_view line,
                                            bool first = false, LineNotes notes = {},
                                            int64_t* elapsed_ns = nullptr) {
  FrameBatch frames;
  frames.width = width;
  try {
    if (!format.parse(line, first, frames, notes)) frames.clear();
  } catch (const LineError&) {
    return std::nullopt;
  }
  if (elapsed_ns != nullptr) *elapsed_ns = notes.elapsed_ns;
  return frames;
}

/// Whether both have the same frames; names of channels and flags that no frame uses are ignored.
inline bool same(const FrameBatch& a, const FrameBatch& b) {
  if (a.time_ns != b.time_ns || a.can_id != b.can_id || a.length != b.length || a.data != b.data ||
      a.label != b.label || a.channel.size() != b.channel.size())
    return false;
  const auto flags = [](const FrameBatch& batch, size_t i) {
    return batch.flags.empty() ? 0 : batch.flags[i];
  };
  for (size_t i = 0; i < a.frames(); ++i) {
    if (flags(a, i) != flags(b, i)) return false;
    if (!a.channel.empty() && a.channels[a.channel[i]] != b.channels[b.channel[i]]) return false;
  }
  return true;
}

/// Appends the frames of `more` from `first` on.
inline void append(FrameBatch& frames, const FrameBatch& more, size_t first = 0) {
  for (size_t i = first; i < more.frames(); ++i) {
    frames.append(more.time_ns[i], more.can_id[i], &more.data[i * static_cast<size_t>(more.width)],
                  more.length[i], more.label[i]);
    frames.set_flags(more.flags.empty() ? uint8_t{0} : more.flags[i]);
    if (!more.channel.empty()) frames.set_channel(more.channels[more.channel[i]]);
  }
}

/// Checks that frames are as docs/formats/frames.md defines them.
inline void expect_sound(const FrameBatch& frames) {
  const size_t count = frames.frames();
  const auto width = static_cast<size_t>(frames.width);
  expect(frames.can_id.size() == count && frames.length.size() == count && frames.label.size() == count &&
             frames.data.size() == count * width && (frames.flags.empty() || frames.flags.size() == count),
         "columns are of one length");
  for (size_t i = 0; i < count; ++i) {
    expect(frames.time_ns[i] >= 0, "a time is not negative");
    const uint32_t id = frames.can_id[i];
    expect((id & (kCanExtended | kCanError)) != 0 || (id & 0x1FFFFFFF) <= 0x7FF,
           "an ID of more than 11 bits is extended");
    expect(frames.label[i] <= 1 || frames.label[i] == kUnlabelled, "a label is 0, 1 or 255");
    expect(frames.length[i] <= width, "a length fits in the width");
    const uint8_t* const data = &frames.data[i * width];
    expect(std::all_of(data + frames.length[i], data + width, [](uint8_t byte) { return byte == 0; }),
           "bytes after the length are 0");
  }
}

/// Parsing line by line without skipping must give the same frames as parse_chunk(), which has faster paths.
inline void expect_as_line_by_line(const Format& format, const ParsedChunk& whole, std::string_view text,
                                   int64_t width) {
  FrameBatch frames;
  frames.width = width;
  int64_t lines = 0;
  LineNotes before;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (line.ends_with('\r')) line.remove_suffix(1);
    ++lines;
    if (trim(line).empty()) continue;
    const std::optional<FrameBatch> parsed =
        parse_line(*format, width, line, lines == 1, before, &before.elapsed_ns);
    expect(parsed || (whole.error && whole.error->line == lines), "a line that is refused ends the parsing");
    if (!parsed) break;
    append(frames, *parsed);
  }
  expect(lines == whole.lines, "every line is counted");
  expect(same(frames, whole.frames), "a chunk has the frames of its lines");
}

/// Frames written as lines of the four-column CSV and of candump parse to the same frames.
inline void expect_text_round_trip(const FrameBatch& frames) {
  static const Format csv = CaptureFormat::make({.name = "ctat-csv"}, "", "");
  static const Format candump =
      CaptureFormat::make({.name = "candump", .payload = 64, .channel = "c"}, "", "");
  for (size_t i = 0; i < frames.frames(); ++i) {
    const int64_t time_ns = frames.time_ns[i];
    if (time_ns > 9'000'000'000'000'000'000) continue;  // Later times are possible in ms and us than in s.
    const uint32_t id = frames.can_id[i];
    const uint8_t length = frames.length[i];
    const bool long_id = (id & (kCanExtended | kCanError)) != 0;
    std::string time = fmt::format("{}.{:09}", time_ns / 1'000'000'000, time_ns % 1'000'000'000);
    while (time.back() == '0' && time[time.size() - 2] != '.') time.pop_back();
    std::string payload;
    for (size_t k = 0; k < length; ++k)
      payload += fmt::format("{:02x}", frames.data[i * static_cast<size_t>(frames.width) + k]);
    const std::string id_text = fmt::format("{:0{}X}", id & (0x1FFFFFFF | kCanError), long_id ? 8 : 3);

    std::string line = fmt::format("({}) c {}#{}{}", time, id_text, length > 8 ? "#0" : "", payload);
    if ((id & kCanRemote) != 0) line = fmt::format("({}) c {}#R", time, id_text);
    const std::optional<FrameBatch> again = parse_line(*candump, 64, line);
    expect(again && again->frames() == 1 && again->time_ns[0] == time_ns && again->can_id[0] == id &&
               again->length[0] == length &&
               std::equal(again->data.begin(), again->data.begin() + length,
                          &frames.data[i * static_cast<size_t>(frames.width)]),
           "a frame comes back from candump");

    if ((id & (kCanRemote | kCanError)) != 0 || length > kPayloadBytes) continue;
    // The lines after it make it an ordinary line, as it is not near the end of the text.
    const bool attack = frames.label[i] == 1;
    line = fmt::format("{},{},{},{}\n{:\n<64}", time, id_text, payload, attack ? 1 : 0, "");
    const ParsedChunk parsed = parse(csv, kPayloadBytes, line, false, true, false);
    expect(!parsed.error && parsed.frames.frames() == 1 && parsed.frames.time_ns[0] == time_ns &&
               parsed.frames.can_id[0] == id && parsed.frames.length[0] == length &&
               parsed.frames.label[0] == attack &&
               std::equal(parsed.frames.data.begin(), parsed.frames.data.begin() + length,
                          &frames.data[i * static_cast<size_t>(frames.width)]),
           "a frame comes back from CSV");
  }
}

/// Checks everything that holds for any text in any format.
inline void expect_parsed_well(const Format& format, int64_t width, std::string_view text) {
  const ParsedChunk strict = parse(format, width, text, true, true, false);
  const ParsedChunk skipping = parse(format, width, text, true, true, true);
  expect_sound(strict.frames);
  expect_sound(skipping.frames);
  expect_as_line_by_line(format, strict, text, width);
  expect_text_round_trip(skipping.frames);

  int64_t skipped = 0;
  for (const auto& [reason, count] : skipping.skipped) skipped += count;
  const auto frames = static_cast<int64_t>(skipping.frames.frames());
  const int64_t counted = frames + skipped + skipping.notes.blank_lines + skipping.notes.other_channels +
                          skipping.notes.other_lines;
  expect(counted == skipping.lines || counted + 1 == skipping.lines,
         "every line but a header is a frame or counted");
  expect(!skipping.error, "with skipping there is no error");
  expect(strict.error.has_value() == (skipped > 0), "what is skipped is an error otherwise");
  if (strict.error) {
    std::string_view rest = text;
    std::string_view line;
    for (int64_t k = 0; k < strict.error->line; ++k) line = take_line(rest);
    expect(strict.error->column >= 1 && strict.error->column <= line.size() + 1, "an error is in its line");
    FrameBatch all = skipping.frames;
    all.truncate(std::min(all.frames(), strict.frames.frames()));
    expect(same(all, strict.frames), "the frames before an error are those that skipping gives");
  } else {
    expect(same(skipping.frames, strict.frames), "without an error skipping changes nothing");
  }

  // Split between two lines, a text has the same frames.
  const size_t newline = text.find('\n', text.size() / 2);
  if (newline == std::string_view::npos) return;
  ParsedChunk front = parse(format, width, text.substr(0, newline + 1), true, false, true);
  ParsedChunk back = parse(format, width, text.substr(newline + 1), false, true, true);
  if (format->has_differences()) {
    // This is an error of the capture.
    if (back.notes.elapsed_ns > kMaxTime - front.notes.elapsed_ns) return;
    for (int64_t& time_ns : back.frames.time_ns) time_ns += front.notes.elapsed_ns;
  }
  append(front.frames, back.frames);
  front.notes.add(back.notes);
  for (const auto& [reason, count] : back.skipped) front.skipped[reason] += count;
  expect(same(front.frames, skipping.frames) && front.lines + back.lines == skipping.lines &&
             front.notes.to_json() == skipping.notes.to_json() && front.skipped == skipping.skipped,
         "chunks add up to the whole");
}

/// A line stays accepted, with the same frame, or refused if `blanks` replace each `mark`.
inline void expect_blanks_do_not_matter(const Format& format, int64_t width, std::string_view text, char mark,
                                        std::string_view blanks) {
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    std::string spaced = " ";
    for (const char c : line) c == mark ? spaced += blanks : spaced += c;
    spaced += '\t';
    const std::optional<FrameBatch> plain = parse_line(*format, width, line);
    const std::optional<FrameBatch> again = parse_line(*format, width, spaced);
    expect(plain.has_value() == again.has_value() && (!plain || same(*plain, *again)),
           "blanks around fields do not matter");
  }
}

/// Options from the first character, a digit: 1 allows CAN FD payloads, 2 selects a channel, 4 an attack
/// label.
inline FormatOptions options_of(char digit) {
  FormatOptions options;
  options.warn = nullptr;
  if ((digit & 1) != 0) options.payload = 64;
  if ((digit & 2) != 0) options.channel = "can0";
  if ((digit & 4) != 0) options.attack_labels = {"1", "attack"};
  return options;
}

/// Runs all checks above on a text of a named format after a digit for the options, and passes the format and
/// the text to `more`.
template <typename More>
int fuzz_capture(const uint8_t* data, size_t size, const char* name, More&& more) {
  if (size == 0) return 0;
  FormatOptions options = options_of(static_cast<char>(data[0]));
  options.name = name;
  succeeds([&] {
    const std::string_view text = text_of(data + 1, size - 1);
    const Format format = CaptureFormat::make(options, text.substr(0, 4096), "capture");
    expect_parsed_well(format, options.payload, text);
    more(format, options.payload, text);
  });
  return 0;
}

}  // namespace plimsoll
