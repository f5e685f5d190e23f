#include "ingest/simulate/recording_sink.h"

namespace plimsoll {

void TextSink::begin(const Recording& recording) {
  const std::filesystem::path split = folder_.add_folder(recording.split);
  writer_ = std::make_unique<FrameTextWriter>(split / (recording.name + text_ending(format_)), format_,
                                              kDefaultChannel, folder_.files());
}

void TextSink::end(const Recording&) {
  writer_->finish();
  writer_.reset();
}

}  // namespace plimsoll
