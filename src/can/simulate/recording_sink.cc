#include "can/simulate/recording_sink.h"

namespace plimsoll {

void CaptureSink::begin(const Recording& recording) {
  folder_.add_folder(recording.split);
  file_ = File::create(folder_.path() / file_of(recording.split, recording.name, format_), folder_.files());
  writer_ = std::make_unique<CaptureWriter>(format_, *file_, WriteOptions{});
}

void CaptureSink::end(const Recording&) {
  writer_->finish();
  writer_.reset();
  file_->sync();
  file_.reset();
}

}  // namespace plimsoll
