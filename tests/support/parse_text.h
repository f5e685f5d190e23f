#pragma once

#include <fmt/format.h>

#include <string>

#include "base/error.h"
#include "can/capture/capture_chunks.h"

namespace plimsoll {

/// Parses the text of a capture as the only part of a file.
inline ParsedChunk parse_text(const std::string& text, const FormatOptions& options = {}, bool skip = false) {
  CaptureChunk chunk;
  chunk.buffer.assign(text.begin(), text.end());
  chunk.text_bytes = text.size();
  chunk.first = chunk.last = true;
  chunk.format = CaptureFormat::make(options, text, "capture");
  ParsedChunk parsed;
  parsed.frames.width = options.payload;
  parse_chunk(chunk, skip, parsed);
  return parsed;
}

/// Returns "LINE:COLUMN: found '...', expected ..." or "no error".
inline std::string error_of(const std::string& text, const FormatOptions& options = {}) {
  const ParsedChunk parsed = parse_text(text, options);
  if (!parsed.error) return "no error";
  return fmt::format("{}:{}: found '{}', expected {}{}", parsed.error->line, parsed.error->column,
                     parsed.error->found, parsed.error->expected, parsed.error->cut_off ? " (cut off)" : "");
}

struct ParsedFrame {
  int64_t time_ns;
  uint32_t can_id;
  std::vector<uint8_t> payload;
  uint8_t label;
};

inline ParsedFrame frame_at(const FrameBatch& batch, size_t i) {
  const auto first = batch.data.begin() + static_cast<int64_t>(i) * batch.width;
  return {batch.time_ns[i], batch.can_id[i], {first, first + batch.length[i]}, batch.label[i]};
}

}  // namespace plimsoll
