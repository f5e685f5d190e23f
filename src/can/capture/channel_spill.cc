#include "can/capture/channel_spill.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace plimsoll {
namespace {

constexpr size_t kSpilledAtOnce = 2048;

// Visits the columns of a batch, one after the other.
template <typename Visit>
void visit_columns(FrameBatch& batch, Visit&& visit) {
  const auto column = [&](auto& values) { visit(values.data(), values.size() * sizeof(values[0])); };
  column(batch.time_ns);
  column(batch.can_id);
  column(batch.length);
  column(batch.data);
  column(batch.label);
  column(batch.flags);
}

}  // namespace

void ChannelSpill::add(const FrameSpans& frames) {
  for (int64_t done = 0; done < frames.size();) {
    if (waiting_.frames() == 0) waiting_.reserve(kSpilledAtOnce);
    const auto free_frames = static_cast<int64_t>(kSpilledAtOnce - waiting_.frames());
    const int64_t count = std::min(free_frames, frames.size() - done);
    waiting_.append_frames(frames.part(done, count));
    done += count;
    if (count == free_frames) write();
  }
}

void ChannelSpill::write() {
  if (!file_) {
    const std::string name = File::create_beside(beside_).path();
    file_ = File::update(name);
    std::filesystem::remove(name);
  }
  waiting_.flags.resize(waiting_.frames(), uint8_t{0});
  visit_columns(waiting_, [&](const void* data, size_t bytes) { file_->write(data, bytes); });
  chunks_.push_back(waiting_.frames());
  waiting_.clear();
}

void ChannelSpill::take(const std::function<void(const FrameSpans&)>& on_chunk) {
  if (chunks_.empty()) {
    if (waiting_.frames() > 0) on_chunk(waiting_.spans());
    waiting_.clear();
    return;
  }
  if (waiting_.frames() > 0) write();
  int64_t offset = 0;
  for (const size_t frames : chunks_) {
    waiting_.truncate(frames);
    waiting_.flags.resize(frames);
    visit_columns(waiting_, [&](void* data, size_t bytes) {
      auto* to = static_cast<char*>(data);
      while (bytes > 0) {
        const ssize_t got = ::pread(file_->descriptor(), to, bytes, offset);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0)
          throw Failure(fmt::format("{}: cannot read back the frames of a channel ({})", file_->path(),
                                    got < 0 ? std::strerror(errno) : "the file is cut off"));
        to += got;
        offset += got;
        bytes -= static_cast<size_t>(got);
      }
    });
    on_chunk(waiting_.spans());
  }
  waiting_.clear();
  chunks_.clear();
  file_.reset();
}

}  // namespace plimsoll
