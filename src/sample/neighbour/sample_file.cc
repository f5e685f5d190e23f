#include "sample/neighbour/sample_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace plimsoll {
namespace {

constexpr int64_t kAlignment = ScratchFile::kAlignment;

int64_t aligned(int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

SampleFile::SampleFile(ScratchFile file, int64_t most_samples) : file_(std::move(file)) {
  ends_.reserve(static_cast<size_t>(most_samples));
}

void SampleFile::begin() {
  ranges_.clear();
  ends_.clear();
  buffer_at_ = 0;
  buffer_ = MappedBytes(Tag::cache, kBuffer);
}

bool SampleFile::add(int64_t number, std::span<const std::byte> sample) {
  const int64_t begin = begin_of(ends_.size());
  const int64_t end = begin + static_cast<int64_t>(sample.size());
  if (ends_.size() == ends_.capacity() || aligned(end) > file_.bytes()) return false;
  for (int64_t at = begin; !sample.empty();) {
    const auto some = static_cast<size_t>(
        std::min(buffer_at_ + kBuffer - at, static_cast<int64_t>(sample.size())));
    std::memcpy(buffer_.data() + (at - buffer_at_), sample.data(), some);
    sample = sample.subspan(some);
    at += static_cast<int64_t>(some);
    if (at == buffer_at_ + kBuffer) write(kBuffer);
  }
  if (ranges_.empty() || ranges_.back().end != number) ranges_.push_back({number, number, ends_.size()});
  ++ranges_.back().end;
  ends_.push_back(end);
  return true;
}

void SampleFile::finish() {
  write(aligned(begin_of(ends_.size()) - buffer_at_));
  buffer_.reset();
}

void SampleFile::write(int64_t bytes) {
  file_.write(buffer_at_, {buffer_.data(), static_cast<size_t>(bytes)});
  buffer_at_ += bytes;
  written_ += bytes;
}

const SampleFile::Range* SampleFile::range_of(int64_t number) const {
  const auto found = std::ranges::find_if(
      ranges_, [&](const Range& range) { return range.first <= number && number < range.end; });
  return found == ranges_.end() ? nullptr : &*found;
}

std::optional<size_t> SampleFile::find(int64_t number) const {
  const Range* const range = range_of(number);
  if (range == nullptr) return std::nullopt;
  return range->at + static_cast<size_t>(number - range->first);
}

int64_t SampleFile::end_of(int64_t number) const {
  const Range* const range = range_of(number);
  return range == nullptr ? number : range->end;
}

KeptSamples::KeptSamples(const SampleFile& file, int64_t longest)
    : file_(file), buffer_(Tag::cache, bytes_for(longest)) {}

int64_t KeptSamples::bytes_for(int64_t longest) {
  return SampleFile::kBuffer + aligned(longest) + 2 * kAlignment;
}

bool KeptSamples::get(std::span<const int64_t> numbers, std::span<BlockSample> samples,
                      const std::stop_token& stop) {
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (stop.stop_requested()) return false;
    const std::optional<size_t> at = file_.find(numbers[i]);
    if (!at) throw Failure(fmt::format("block {} has no sample in the scratch file", numbers[i]));
    samples[i].read(read(*at));
  }
  return true;
}

std::span<const std::byte> KeptSamples::read(size_t at) {
  const int64_t first = file_.begin_of(at);
  const int64_t end = file_.ends_[at];
  if (first < begin_ || end > end_) {
    begin_ = first / kAlignment * kAlignment;
    end_ = std::min(begin_ + buffer_.size() / kAlignment * kAlignment, aligned(file_.ends_.back()));
    file_.file_.read(begin_, {buffer_.data(), static_cast<size_t>(end_ - begin_)});
    file_.read_ += end_ - begin_;
  }
  return {buffer_.data() + (first - begin_), static_cast<size_t>(end - first)};
}

}  // namespace plimsoll
