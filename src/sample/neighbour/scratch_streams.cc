#include "sample/neighbour/scratch_streams.h"

#include <fmt/format.h>

#include <algorithm>

namespace plimsoll {
namespace {

size_t whole_pages(int64_t bytes) {
  return static_cast<size_t>((bytes + ScratchFile::kAlignment - 1) / ScratchFile::kAlignment *
                             ScratchFile::kAlignment);
}

}  // namespace

int64_t ScratchStreams::take() {
  const MutexLock lock(mutex_);
  if (!free_.empty()) {
    const int64_t extent = free_.back();
    free_.pop_back();
    return extent;
  }
  if (end_ + extent_ > file_.bytes())
    throw ScratchStreamsFull(fmt::format(
        "samples need more than the {} bytes of a scratch file; free some disk space", file_.bytes()));
  end_ += extent_;
  return end_ - extent_;
}

void ScratchStreams::give_back(int64_t extent) {
  const MutexLock lock(mutex_);
  free_.push_back(extent);
}

void ScratchStreams::Writer::put(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto some = std::min(static_cast<size_t>(buffer_.size() - filled_), bytes.size());
    std::memcpy(buffer_.data() + filled_, bytes.data(), some);
    filled_ += static_cast<int64_t>(some);
    bytes = bytes.subspan(some);
    if (filled_ == buffer_.size()) flush();
  }
}

void ScratchStreams::Writer::flush() {
  const int64_t extent = streams_->take();
  stream_->extents.push_back(extent);
  streams_->file_.write(extent, {buffer_.data(), whole_pages(filled_)});
  streams_->written_ += static_cast<int64_t>(whole_pages(filled_));
  stream_->bytes += filled_;
  filled_ = 0;
}

void ScratchStreams::Writer::finish() {
  if (filled_ > 0) flush();
  buffer_.reset();
}

void ScratchStreams::Reader::get_across(std::span<std::byte> to) {
  while (!to.empty()) {
    if (at_ == filled_) fill();
    const auto some = std::min(static_cast<size_t>(filled_ - at_), to.size());
    std::memcpy(to.data(), buffer_.data() + at_, some);
    at_ += static_cast<int64_t>(some);
    to = to.subspan(some);
  }
}

void ScratchStreams::Reader::fill() {
  if (next_byte_ == stream_->bytes)
    throw Failure("a stream of a scratch file was read past its end; this is a bug in Plimsoll");
  const int64_t extent = stream_->extents[static_cast<size_t>(next_byte_ / streams_->extent_)];
  filled_ = std::min(streams_->extent_, stream_->bytes - next_byte_);
  at_ = 0;
  streams_->file_.read(extent, {buffer_.data(), whole_pages(filled_)});
  streams_->read_ += static_cast<int64_t>(whole_pages(filled_));
  next_byte_ += filled_;
  if (frees_) streams_->give_back(extent);
}

}  // namespace plimsoll
