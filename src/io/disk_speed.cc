#include "io/disk_speed.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <span>

#include "base/error.h"
#include "base/units.h"
#include "base/workers.h"
#include "io/aligned_file.h"
#include "io/scratch_file.h"
#include "memory/mapped_bytes.h"
#include "memory/vector.h"

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kPiece = 2 * kMiB;
constexpr int64_t kMaxBytes = 512 * kMiB;
constexpr std::chrono::milliseconds kLongest{500};
constexpr int kAtOnce = 4;  // Number of requests under way, as when reading ahead.

// Returns the bytes per second of `move`, which reads or writes a chunk at an offset below `bytes`.
double speed_of(int64_t bytes, const std::function<void(int64_t offset, std::span<std::byte>)>& move) {
  const int64_t pieces = std::min(bytes, kMaxBytes) / kPiece;
  if (pieces == 0) return 0;
  MappedBytes memory(Tag::cache, kAtOnce * kPiece);
  std::memset(memory.data(), 1, static_cast<size_t>(kAtOnce * kPiece));
  Workers workers(kAtOnce);
  std::atomic<int64_t> done = 0;
  const auto start = Clock::now();
  workers.run_ordered(pieces, [&](int64_t number, Turn& turn) {
    if (Clock::now() - start >= kLongest) return;
    move(number * kPiece, std::span(memory.data() + turn.worker() * kPiece, static_cast<size_t>(kPiece)));
    ++done;
  });
  const std::chrono::duration<double> seconds = Clock::now() - start;
  return static_cast<double>(done * kPiece) / seconds.count();
}

// Returns the rows per second for rows that are far apart.
double scattered_rows(const std::filesystem::path& file, const RowLayout& layout) {
  constexpr int64_t kRows = 4096;
  RowReader reader(file, layout);
  const int64_t count =
      std::clamp<int64_t>(kAtOnce * kPiece / layout.row_bytes, 1, std::min(kRows, layout.rows));
  MappedBytes memory(Tag::cache, count * layout.row_bytes);
  Vector<WantedRow, Tag::cache> wanted(static_cast<size_t>(count));
  const auto start = Clock::now();
  int64_t done = 0;
  for (int64_t round = 0; Clock::now() - start < kLongest; ++round, done += count) {
    for (int64_t i = 0; i < count; ++i)
      wanted[static_cast<size_t>(i)] = {(i * layout.rows / count + round) % layout.rows,
                                        memory.data() + i * layout.row_bytes};
    reader.read(wanted);
  }
  const std::chrono::duration<double> seconds = Clock::now() - start;
  return static_cast<double>(done) / seconds.count();
}

}  // namespace

DiskSpeed measure_disk(const std::filesystem::path& file, const RowLayout& rows) {
  DiskSpeed found;
  found.rows = scattered_rows(file, rows);
  if (const auto direct = open_direct(file))
    found.read = speed_of(direct->bytes, [&](int64_t offset, std::span<std::byte> piece) {
      if (::pread(direct->file.descriptor(), piece.data(), piece.size(), offset) !=
          static_cast<ssize_t>(piece.size()))
        throw Failure(fmt::format("{}: cannot read {} bytes at byte {}: {}", file.string(), piece.size(),
                                  offset, std::strerror(errno)));
    });
  if (auto scratch = ScratchFile::make(file.parent_path(), kMaxBytes))
    found.write = speed_of(
        scratch->bytes(), [&](int64_t offset, std::span<std::byte> piece) { scratch->write(offset, piece); });
  return found;
}

}  // namespace plimsoll
