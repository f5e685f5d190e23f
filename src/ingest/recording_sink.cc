#include "ingest/recording_sink.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "io/file.h"

namespace plimsoll {
namespace fs = std::filesystem;

TextSink::TextSink(const fs::path& out, bool force, TextFormat format) : force_(force), format_(format) {
  const fs::path normal = out.lexically_normal();
  folder_ = normal.has_filename() ? normal : normal.parent_path();
  temporary_ = folder_.parent_path() / fmt::format(".{}.tmp.{}", folder_.filename().string(), ::getpid());
  std::error_code failed;
  fs::remove_all(temporary_, failed);
  if (!failed) fs::create_directories(temporary_, failed);
  if (failed) throw Failure(fmt::format("cannot make {}: {}", temporary_.string(), failed.message()));
}

TextSink::~TextSink() {
  if (published_) return;
  writer_.reset();
  std::error_code ignored;
  fs::remove_all(temporary_, ignored);
}

void TextSink::begin(const Recording& recording) {
  const fs::path split = temporary_ / recording.split;
  std::error_code failed;
  fs::create_directories(split, failed);
  if (failed) throw Failure(fmt::format("cannot make {}: {}", split.string(), failed.message()));
  writer_ = std::make_unique<FrameTextWriter>(split / (recording.name + text_ending(format_)), format_);
}

void TextSink::end(const Recording&) {
  writer_->finish();
  writer_.reset();
}

void TextSink::publish() {
  const bool exchange = force_ && fs::exists(folder_);
  if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, folder_.c_str(),
                  exchange ? RENAME_EXCHANGE : RENAME_NOREPLACE) != 0)
    throw system_failure("cannot rename the finished captures to", folder_.string());
  published_ = true;
  sync_folder(folder_.parent_path());
  std::error_code failed;
  if (exchange) fs::remove_all(temporary_, failed);
  if (failed)
    throw Failure(fmt::format("{} is replaced, but the old one, now {}, cannot be deleted: {}",
                              folder_.string(), temporary_.string(), failed.message()));
}

}  // namespace plimsoll
