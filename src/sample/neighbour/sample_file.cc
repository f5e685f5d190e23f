#include "sample/neighbour/sample_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/mutex.h"

namespace plimsoll {
namespace {

constexpr int64_t kReadTogether = 128 * 1024;
constexpr int64_t kEndBytes = sizeof(int64_t);
constexpr int64_t kEndsOfPage = SampleFile::kPage / kEndBytes;

int64_t aligned(int64_t bytes) {
  return (bytes + SampleFile::kPage - 1) / SampleFile::kPage * SampleFile::kPage;
}

}  // namespace

int64_t SampleFile::file_bytes_for(int64_t samples, int64_t bytes) {
  return aligned(samples * kEndBytes) + aligned(bytes);
}

SampleFile::SampleFile(ScratchFile file, int64_t max_samples)
    : file_(std::move(file)), max_samples_(max_samples), first_byte_(aligned(max_samples * kEndBytes)) {
  if (first_byte_ > file_.bytes())
    throw Failure(fmt::format("a scratch file of {} bytes is too small for the index of {} samples",
                              file_.bytes(), max_samples));
}

void SampleFile::begin() {
  ranges_.clear();
  samples_ = 0;
  ends_ = {0, 0, MappedBytes(Tag::cache, kPage)};
  data_ = {first_byte_, 0, MappedBytes(Tag::cache, kBuffer)};
}

bool SampleFile::add(int64_t number, std::span<const std::byte> sample) {
  const int64_t end = data_.at + data_.waits + static_cast<int64_t>(sample.size());
  if (samples_ == max_samples_ || aligned(end) > file_.bytes()) return false;
  append(data_, sample);
  append(ends_, std::as_bytes(std::span(&end, 1)));
  if (ranges_.empty() || ranges_.back().end != number) ranges_.push_back({number, number, samples_});
  ++ranges_.back().end;
  ++samples_;
  return true;
}

void SampleFile::append(Part& part, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const size_t some = std::min(static_cast<size_t>(part.buffer.size() - part.waits), bytes.size());
    std::memcpy(part.buffer.data() + part.waits, bytes.data(), some);
    bytes = bytes.subspan(some);
    part.waits += static_cast<int64_t>(some);
    if (part.waits == part.buffer.size()) flush(part);
  }
}

void SampleFile::flush(Part& part) {
  const int64_t bytes = aligned(part.waits);
  file_.write(part.at, {part.buffer.data(), static_cast<size_t>(bytes)});
  part.at += bytes;
  part.waits = 0;
  written_ += bytes;
}

void SampleFile::finish() {
  for (Part* const part : {&ends_, &data_}) {
    flush(*part);
    part->buffer.reset();
  }
}

const SampleFile::Range* SampleFile::range_of(int64_t number) const {
  const auto found = std::ranges::find_if(
      ranges_, [&](const Range& range) { return range.first <= number && number < range.end; });
  return found == ranges_.end() ? nullptr : &*found;
}

int64_t SampleFile::end_of(int64_t number) const {
  const Range* const range = range_of(number);
  return range == nullptr ? number : range->end;
}

void SampleFile::read(int64_t offset, std::span<std::byte> to) const {
  file_.read(offset, to);
  read_ += static_cast<int64_t>(to.size());
}

KeptSamples::KeptSamples(const SampleFile& file, int64_t longest)
    : file_(file),
      ends_(Tag::cache, SampleFile::kPage),
      data_(Tag::cache, bytes_for(longest) - SampleFile::kPage) {}

int64_t KeptSamples::bytes_for(int64_t longest) {
  return kReadTogether + aligned(longest) + 2 * SampleFile::kPage;
}

bool KeptSamples::get(std::span<const int64_t> numbers, std::span<BlockSample> samples,
                      const std::stop_token& stop) {
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (stop.stop_requested()) return false;
    const MutexLock lock(mutex_);
    read(numbers[i], samples[i]);
  }
  return true;
}

void KeptSamples::read(int64_t number, BlockSample& sample) {
  const SampleFile::Range* const range = file_.range_of(number);
  if (range == nullptr) throw Failure(fmt::format("block {} has no sample in the scratch file", number));
  const int64_t at = range->at + number - range->first;
  const int64_t first = at == 0 ? file_.first_byte_ : end_of(at - 1);
  const int64_t end = end_of(at);
  if (first < begin_ || end > end_) {
    const int64_t from = first / SampleFile::kPage * SampleFile::kPage;
    const int64_t to = std::min(from + data_.size(), file_.data_.at);
    begin_ = end_ = 0;  // An error leaves the buffer without valid bytes.
    file_.read(from, {data_.data(), static_cast<size_t>(to - from)});
    begin_ = from;
    end_ = to;
  }
  sample.read({data_.data() + (first - begin_), static_cast<size_t>(end - first)});
}

// Returns the end of a sample in the file.
int64_t KeptSamples::end_of(int64_t sample) {
  const int64_t page = sample / kEndsOfPage;
  if (page != std::exchange(page_, -1))
    file_.read(page * SampleFile::kPage, {ends_.data(), SampleFile::kPage});
  page_ = page;
  int64_t end = 0;
  std::memcpy(&end, ends_.data() + sample % kEndsOfPage * kEndBytes, sizeof(end));
  return end;
}

}  // namespace plimsoll
