#include "ingest/recording_sink.h"

#include <fmt/format.h>

#include "base/error.h"

namespace plimsoll {
namespace fs = std::filesystem;

void TextSink::begin(const Recording& recording) {
  const fs::path split = folder_.path() / recording.split;
  std::error_code failed;
  fs::create_directories(split, failed);
  if (failed) throw Failure(fmt::format("cannot make {}: {}", split.string(), failed.message()));
  writer_ = std::make_unique<FrameTextWriter>(split / (recording.name + text_ending(format_)), format_);
}

void TextSink::end(const Recording&) {
  writer_->finish();
  writer_.reset();
}

}  // namespace plimsoll
