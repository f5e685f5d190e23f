#include "rows/versioned_rows.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/hash64.h"
#include "base/shown.h"
#include "io/ring.h"
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

// The file is a header, the records of all rows, and the reserve. A record has the places of a row one after
// the other, and each place is followed by its checksum, in the bytes of an f32. One place of weights is
// current, one is that of the last commit, and one is the best.
constexpr int64_t kHeaderBytes = 4096;
constexpr int kRingEntries = 256;
constexpr int64_t kWeightPlaces = 3;

// Each function returns a number of f32 of a record, or the index of the first of them.
int64_t record_floats(const VersionedSizes& sizes) {
  const int64_t moments = sizes.moments * sizes.width;
  return kWeightPlaces * (sizes.width + 1) + (moments > 0 ? 2 * (moments + 1) : 0);
}
// Numbers of the current weights and moments of a row, with their checksums.
size_t part_floats(const VersionedSizes& sizes) {
  const int64_t moments = sizes.moments * sizes.width;
  return static_cast<size_t>(sizes.width + 1 + (moments > 0 ? moments + 1 : 0));
}
int64_t weights_at(const VersionedSizes& sizes, int place) {
  return place * (sizes.width + 1);
}
int64_t moments_at(const VersionedSizes& sizes, int place) {
  return kWeightPlaces * (sizes.width + 1) + place * (sizes.moments * sizes.width + 1);
}

int64_t bytes_without_reserve(const VersionedSizes& sizes) {
  return kHeaderBytes + sizes.rows * record_floats(sizes) * int64_t{sizeof(float)};
}

std::string header_of(const VersionedSizes& sizes) {
  return fmt::format("plimsoll embedding.rows 2: {} rows of {} numbers, {} moments\n", sizes.rows,
                     sizes.width, sizes.moments);
}

// The checksum also depends on where the numbers are, so numbers of another place are noticed.
uint32_t checksum_of(int64_t row, int64_t number, std::span<const float> numbers) {
  const uint64_t place = static_cast<uint64_t>(row) << 32 ^ static_cast<uint64_t>(number);
  return static_cast<uint32_t>(
      hash64({reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()}, place));
}

std::string no_space(const std::string& path, int64_t bytes) {
  const int error = errno;
  return fmt::format(
      "{}: the disk cannot hold the table of embeddings, its moments and the model file, which need {} "
      "bytes: {}; {} bytes are free; make room there, or name a --run on another disk{}",
      path, bytes, std::strerror(error), ScratchFile::free_bytes(std::filesystem::path(path).parent_path()),
      error == EFBIG ? ", or raise the limit on the size of a file (ulimit -f)" : "");
}

}  // namespace

int64_t VersionedRows::export_bytes(const VersionedSizes& sizes) {
  return sizes.rows * sizes.width * int64_t{sizeof(float)};
}

int64_t VersionedRows::file_bytes(const VersionedSizes& sizes) {
  return bytes_without_reserve(sizes) + export_bytes(sizes);
}

VersionedRows::~VersionedRows() = default;

VersionedRows::VersionedRows(const VersionedSizes& sizes, Initial initial)
    : sizes_(sizes),
      initial_(std::move(initial)),
      places_(static_cast<size_t>(sizes.rows), Places().byte()),
      rows_at_once_(std::max<int64_t>(kChunkBytes / int64_t{sizeof(float)} / record_floats(sizes), 1)),
      records_(static_cast<size_t>(rows_at_once_ * record_floats(sizes))),
      weights_(static_cast<size_t>(rows_at_once_ * sizes.width)),
      ring_(Ring::make(kRingEntries)) {}

// Allocates all bytes, so that no write can fail later for lack of space. A file system that cannot do this
// gets a file with holes.
void VersionedRows::allocate(const std::string& path, int64_t bytes) const {
  const int file = file_->descriptor();
  int failed = -1;
  do failed = ::fallocate(file, 0, 0, bytes);
  while (failed != 0 && errno == EINTR);
  if (failed == 0) return;
  if ((errno == EOPNOTSUPP || errno == ENOSYS) && ::ftruncate(file, bytes) == 0) return;
  throw Failure(no_space(path, bytes));
}

void VersionedRows::create(const std::filesystem::path& path) {
  file_.emplace(File::create(path));
  try {
    allocate(path.string(), file_bytes(sizes_));
  } catch (const Failure&) {
    file_.reset();
    std::filesystem::remove(path);
    throw;
  }
  const std::string header = header_of(sizes_);
  file_->write_at(0, header.data(), header.size());
  read_at_random();
  std::ranges::fill(places_, Places().byte());
}

void VersionedRows::free_reserve() {
  if (::ftruncate(file_->descriptor(), bytes_without_reserve(sizes_)) != 0)
    throw file_failure("cannot truncate", file_->path());
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
  const std::string expected = header_of(sizes_);
  std::array<char, 128> start{};
  const size_t got = file.read(start.data(), expected.size());
  if (const std::string_view found(start.data(), got); found != expected)
    throw refuse(fmt::format(
        "found a file that starts with '{}', expected '{}'; it is damaged, of another table, or of a version "
        "of Plimsoll that had no checksums, which can finish the run",
        shown(found, expected.size()), shown(expected, expected.size())));
  struct stat status {};
  const int64_t whole = file_bytes(sizes_), least = bytes_without_reserve(sizes_);
  // A full disk may have ended the allocation of the reserve anywhere.
  if (::fstat(file.descriptor(), &status) != 0 || status.st_size < least || status.st_size > whole)
    throw refuse(fmt::format("found {} bytes, expected {} to {}", status.st_size, least, whole));
  if (places.size() != places_.size())
    throw refuse(fmt::format("the checkpoint has {} rows, expected {}", places.size(), places_.size()));
  std::memcpy(places_.data(), places.data(), places.size());
  file_.emplace(std::move(file));
  allocate(path.string(), whole);
  read_at_random();
  commit();
}

int64_t VersionedRows::offset_of(int64_t row, int64_t number) const {
  return kHeaderBytes + (row * record_floats(sizes_) + number) * int64_t{sizeof(float)};
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

void VersionedRows::verify(int64_t row, int64_t number, std::span<const float> numbers,
                           float checksum) const {
  const uint32_t found = checksum_of(row, number, numbers);
  if (found == std::bit_cast<uint32_t>(checksum)) return;
  const int64_t first = offset_of(row, number);
  throw InputError(fmt::format(
      "{}: row {} of the table of embeddings: found numbers with the checksum {:08x} in bytes {} to {}, "
      "expected "
      "{:08x}: the file is damaged; put a copy of the run's folder in its place, or start again with --force",
      file_->path(), row, found, first, first + static_cast<int64_t>(numbers.size_bytes()),
      std::bit_cast<uint32_t>(checksum)));
}

// Reads a place, which begins at a number of the record of its row.
void VersionedRows::read_place(int64_t row, int64_t number, std::span<float> numbers) const {
  const std::span<float> found = std::span(records_).first(numbers.size() + 1);
  read_at(offset_of(row, number), found);
  verify(row, number, found.first(numbers.size()), found.back());
  std::ranges::copy(found.first(numbers.size()), numbers.begin());
}

void VersionedRows::write_place(int64_t row, int64_t number, std::span<const float> numbers) {
  const std::span<float> written = std::span(records_).first(numbers.size() + 1);
  std::ranges::copy(numbers, written.begin());
  written.back() = std::bit_cast<float>(checksum_of(row, number, numbers));
  file_->write_at(offset_of(row, number), written.data(), written.size_bytes());
}

void VersionedRows::read(int64_t row, std::span<float> weights, std::span<float> moments) const {
  const Places at = Places::of(places_[static_cast<size_t>(row)]);
  if (at.weights == Places::kInitial) {
    initial_(row, weights);
    std::ranges::fill(moments, 0.0F);
    return;
  }
  read_place(row, weights_at(sizes_, at.weights), weights);
  if (!moments.empty()) read_place(row, moments_at(sizes_, at.moments), moments);
}

// Calls visit(i, number, numbers) for the places of the current weights and moments of rows[i], unless they
// are the initial ones; `numbers` is the memory for them and their checksum.
template <typename Visit>
void VersionedRows::each_place(std::span<const uint32_t> rows, const Visit& visit) const {
  const size_t size = part_floats(sizes_);
  const auto weights = static_cast<size_t>(sizes_.width) + 1;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Places at = Places::of(places_[rows[i]]);
    if (at.weights == Places::kInitial) continue;
    const std::span<float> part = std::span(records_).subspan(i * size, size);
    visit(i, weights_at(sizes_, at.weights), part.first(weights));
    if (sizes_.moments > 0) visit(i, moments_at(sizes_, at.moments), part.subspan(weights));
  }
}

// Returns whether all bytes were read. If not, ordinary reads find out why.
bool VersionedRows::read_by_ring(std::span<const uint32_t> rows) const {
  if (ring_ == nullptr) return false;
  int left = 0;
  each_place(rows, [&](size_t i, int64_t number, std::span<float> numbers) {
    const std::span<std::byte> bytes = std::as_writable_bytes(numbers);
    ring_->read(file_->descriptor(), offset_of(rows[i], number), bytes.data(), std::ssize(bytes),
                bytes.size());
    ++left;
  });
  bool whole = true;
  while (left > 0) {
    if (ring_->submit(left) != 0) {
      ring_->settle();  // No read may be under way once its memory is used for something else.
      ring_.reset();
      return false;
    }
    while (const std::optional<Ring::Done> done = ring_->next()) {
      whole = whole && done->result == static_cast<int64_t>(done->id);
      --left;
    }
  }
  return whole;
}

void VersionedRows::read_some(std::span<const uint32_t> rows, size_t first, const Use& use) const {
  const bool is_read = read_by_ring(rows);
  each_place(rows, [&](size_t i, int64_t number, std::span<float> numbers) {
    if (!is_read) read_at(offset_of(rows[i], number), numbers);
    verify(rows[i], number, numbers.first(numbers.size() - 1), numbers.back());
  });
  const size_t size = part_floats(sizes_);
  const auto width = static_cast<size_t>(sizes_.width);
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::span<float> part = std::span(records_).subspan(i * size, size);
    const bool initial = Places::of(places_[rows[i]]).weights == Places::kInitial;
    if (initial) std::ranges::fill(part, 0.0F);
    if (initial) initial_(rows[i], part.first(width));
    const std::span<float> moments =
        sizes_.moments > 0 ? part.subspan(width + 1).first(part.size() - width - 2) : std::span<float>();
    use(first + i, part.first(width), moments);
  }
}

void VersionedRows::read(std::span<const uint32_t> rows, const Use& use) const {
  const size_t at_once = std::min<size_t>(records_.size() / part_floats(sizes_), kRingEntries / 2);
  for (size_t first = 0; first < rows.size(); first += at_once)
    read_some(rows.subspan(first, std::min(at_once, rows.size() - first)), first, use);
}

void VersionedRows::expect(int64_t row) const {
  if (Places::of(places_[static_cast<size_t>(row)]).weights == Places::kInitial) return;
  // Without the advice the row is only read later.
  (void)::posix_fadvise(file_->descriptor(), offset_of(row, 0),
                        record_floats(sizes_) * int64_t{sizeof(float)}, POSIX_FADV_WILLNEED);
}

void VersionedRows::write(int64_t row, std::span<const float> weights, std::span<const float> moments) {
  uint8_t& places = places_[static_cast<size_t>(row)];
  const Places next = Places::of(places).for_write();
  write_place(row, weights_at(sizes_, next.weights), weights);
  if (!moments.empty()) write_place(row, moments_at(sizes_, next.moments), moments);
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
  const auto floats = static_cast<size_t>(record_floats(sizes_));
  (void)::posix_fadvise(file_->descriptor(), 0, 0, POSIX_FADV_SEQUENTIAL);
  for (int64_t first = 0; first < sizes_.rows; first += rows_at_once_) {
    const auto count = static_cast<size_t>(std::min(rows_at_once_, sizes_.rows - first));
    read_at(offset_of(first, 0), std::span(records_).first(count * floats));
    for (size_t i = 0; i < count; ++i) {
      const std::span<float> to = std::span(weights_).subspan(i * width, width);
      const int64_t row = first + static_cast<int64_t>(i);
      const int place = Places::of(places_[static_cast<size_t>(row)]).weights;
      if (place == Places::kInitial) {
        initial_(row, to);
        continue;
      }
      const int64_t number = weights_at(sizes_, place);
      const auto from = std::span(records_).subspan(i * floats + static_cast<size_t>(number), width + 1);
      verify(row, number, from.first(width), from.back());
      std::ranges::copy(from.first(width), to.begin());
    }
    take(std::span(weights_).first(count * width));
  }
  read_at_random();
}

}  // namespace plimsoll
