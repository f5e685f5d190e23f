#include "rows/versioned_rows.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "io/scratch_file.h"

namespace plimsoll {
namespace {

// The places of a row. A place of weights is 0, 1 or 2, or 3 if the weights are the initial ones. A place of
// moments is 0 or 1; it means nothing while the weights are the initial ones.
struct Places {
  static constexpr int kInitial = 3;

  int weights = kInitial;
  int committed = kInitial;
  int best = kInitial;
  int moments = 0;
  int committed_moments = 0;

  static Places of(uint8_t byte) {
    return {byte & 3, byte >> 2 & 3, byte >> 4 & 3, byte >> 6 & 1, byte >> 7 & 1};
  }
  uint8_t byte() const {
    return static_cast<uint8_t>(weights | committed << 2 | best << 4 | moments << 6 | committed_moments << 7);
  }
  // Returns the places to write to.
  Places for_write() const {
    Places next = *this;
    next.moments = 1 - committed_moments;
    if (weights != kInitial && weights != committed && weights != best) return next;
    next.weights = 0;
    while (next.weights == committed || next.weights == best) ++next.weights;
    return next;
  }
};

constexpr int64_t kChunkBytes = 64 << 10;

std::string no_space(const std::string& path, int64_t bytes) {
  const int error = errno;
  return fmt::format(
      "{}: the disk cannot hold the table of embeddings and its moments, which need {} bytes: {}; {} bytes "
      "are "
      "free; make room there, or name a --run on another disk{}",
      path, bytes, std::strerror(error), ScratchFile::free_bytes(std::filesystem::path(path).parent_path()),
      error == EFBIG ? ", or raise the limit on the size of a file (ulimit -f)" : "");
}

// Allocates all bytes, so that no write can fail later for lack of space. A file system that cannot do this
// gets a file with holes.
int allocate(int descriptor, int64_t bytes) {
  if (::fallocate(descriptor, 0, 0, bytes) == 0) return 0;
  return errno == EOPNOTSUPP || errno == ENOSYS ? ::ftruncate(descriptor, bytes) : -1;
}

}  // namespace

int64_t VersionedRows::file_bytes(const VersionedSizes& sizes) {
  return sizes.rows * (kWeightPlaces + 2 * sizes.moments) * sizes.width * int64_t{sizeof(float)};
}

VersionedRows::VersionedRows(const VersionedSizes& sizes, Initial initial)
    : sizes_(sizes),
      initial_(std::move(initial)),
      places_(static_cast<size_t>(sizes.rows), Places().byte()),
      rows_at_once_(std::max<int64_t>(kChunkBytes / int64_t{sizeof(float)} / record_floats(), 1)),
      records_(static_cast<size_t>(rows_at_once_ * record_floats())),
      weights_(static_cast<size_t>(rows_at_once_ * sizes.width)) {}

void VersionedRows::create(const std::filesystem::path& path) {
  const int64_t bytes = file_bytes(sizes_);
  file_.emplace(File::create(path));
  if (allocate(file_->descriptor(), bytes) != 0) {
    const std::string text = no_space(path.string(), bytes);
    file_.reset();
    std::filesystem::remove(path);
    throw Failure(text);
  }
  read_at_random();
  std::ranges::fill(places_, Places().byte());
}

// Without this advice the system also reads the neighbours of a row.
void VersionedRows::read_at_random() const {
  (void)::posix_fadvise(file_->descriptor(), 0, 0, POSIX_FADV_RANDOM);
}

void VersionedRows::open(const std::filesystem::path& path, std::span<const std::byte> places) {
  const auto refuse = [&](const std::string& what) {
    return Failure(fmt::format("{}: {}; start again with --force", path.string(), what));
  };
  if (!std::filesystem::exists(path)) throw refuse("the table of embeddings of this run is missing");
  File file = File::update(path);
  struct stat status {};
  if (::fstat(file.descriptor(), &status) != 0 || status.st_size != file_bytes(sizes_))
    throw refuse(fmt::format("found {} bytes, expected {}", status.st_size, file_bytes(sizes_)));
  if (places.size() != places_.size())
    throw refuse(fmt::format("the checkpoint has {} rows, expected {}", places.size(), places_.size()));
  std::memcpy(places_.data(), places.data(), places.size());
  file_.emplace(std::move(file));
  read_at_random();
  commit();
}

int64_t VersionedRows::offset_of(int64_t row, int64_t number) const {
  return (row * record_floats() + number) * int64_t{sizeof(float)};
}

void VersionedRows::read_at(int64_t offset, std::span<float> numbers) const {
  auto left = std::as_writable_bytes(numbers);
  while (!left.empty()) {
    const ssize_t got = ::pread(file_->descriptor(), left.data(), left.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw file_failure("cannot read", file_->path());
    if (got == 0) throw Failure(file_->path() + ": the file was truncated while it was in use");
    left = left.subspan(static_cast<size_t>(got));
    offset += got;
  }
}

void VersionedRows::write_at(int64_t offset, std::span<const float> numbers) {
  file_->write_at(offset, numbers.data(), numbers.size_bytes());
}

void VersionedRows::read(int64_t row, std::span<float> weights, std::span<float> moments) const {
  const Places at = Places::of(places_[static_cast<size_t>(row)]);
  if (at.weights == Places::kInitial) {
    initial_(row, weights);
    std::ranges::fill(moments, 0.0F);
    return;
  }
  read_at(offset_of(row, at.weights * sizes_.width), weights);
  if (!moments.empty())
    read_at(offset_of(row, (kWeightPlaces + at.moments * sizes_.moments) * sizes_.width), moments);
}

void VersionedRows::expect(int64_t row) const {
  if (Places::of(places_[static_cast<size_t>(row)]).weights == Places::kInitial) return;
  // Without the advice the row is only read later.
  (void)::posix_fadvise(file_->descriptor(), offset_of(row, 0), record_floats() * int64_t{sizeof(float)},
                        POSIX_FADV_WILLNEED);
}

void VersionedRows::write(int64_t row, std::span<const float> weights, std::span<const float> moments) {
  uint8_t& places = places_[static_cast<size_t>(row)];
  const Places next = Places::of(places).for_write();
  write_at(offset_of(row, next.weights * sizes_.width), weights);
  if (!moments.empty())
    write_at(offset_of(row, (kWeightPlaces + next.moments * sizes_.moments) * sizes_.width), moments);
  places = next.byte();
}

void VersionedRows::keep_best() {
  for (uint8_t& byte : places_) {
    Places places = Places::of(byte);
    places.best = places.weights;
    byte = places.byte();
  }
}

void VersionedRows::restore_best() {
  for (uint8_t& byte : places_) {
    Places places = Places::of(byte);
    places.weights = places.best;
    byte = places.byte();
  }
}

void VersionedRows::commit() {
  for (uint8_t& byte : places_) {
    Places places = Places::of(byte);
    places.committed = places.weights;
    places.committed_moments = places.moments;
    byte = places.byte();
  }
}

// Reads whole records in the order of the file, and takes the current weights out of them.
void VersionedRows::read_all(const std::function<void(std::span<const float> weights)>& take) {
  const auto width = static_cast<size_t>(sizes_.width);
  for (int64_t first = 0; first < sizes_.rows; first += rows_at_once_) {
    const auto count = static_cast<size_t>(std::min(rows_at_once_, sizes_.rows - first));
    read_at(offset_of(first, 0), std::span(records_).first(count * static_cast<size_t>(record_floats())));
    for (size_t i = 0; i < count; ++i) {
      const std::span<float> to = std::span(weights_).subspan(i * width, width);
      const int64_t row = first + static_cast<int64_t>(i);
      const int place = Places::of(places_[static_cast<size_t>(row)]).weights;
      const auto from = i * static_cast<size_t>(record_floats()) + static_cast<size_t>(place) * width;
      if (place == Places::kInitial)
        initial_(row, to);
      else
        std::ranges::copy(std::span(records_).subspan(from, width), to.begin());
    }
    take(std::span(weights_).first(count * width));
  }
}

}  // namespace plimsoll
