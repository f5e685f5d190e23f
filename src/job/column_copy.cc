#include "job/column_copy.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>

#include "base/start_thread.h"
#include "base/units.h"
#include "io/file.h"
#include "memory/vector.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

constexpr size_t kPiece = kMiB;

// Hashes what belongs to the data of a column.
class DataHash {
 public:
  explicit DataHash(int64_t offset) : skip_(static_cast<size_t>(offset)) {}
  void add(const void* bytes, size_t size) {
    const size_t header = std::min(skip_, size);
    skip_ -= header;
    hasher_.add(static_cast<const char*>(bytes) + header, size - header);
  }
  std::string hex64() const { return hasher_.hex64(); }

 private:
  size_t skip_;
  Hasher hasher_;
};

using Bytes = std::span<const std::byte>;

// Has all pages of a piece in memory, in one call; where the system cannot, they come one by one.
void populate(Bytes piece) {
  const auto begin = reinterpret_cast<uintptr_t>(piece.data()) & ~uintptr_t{4095};
  const size_t length = reinterpret_cast<uintptr_t>(piece.data()) + piece.size() - begin;
  ::madvise(reinterpret_cast<void*>(begin), length, MADV_POPULATE_READ);
}

// Reads ahead of the writer and hashes, on a thread of its own.
class HashAhead {
 public:
  HashAhead(Bytes bytes, DataHash& hash)
      : thread_(start_thread([this, bytes, &hash](const std::stop_token& stop) {
          for (Bytes rest = bytes; !rest.empty() && !stop.stop_requested();) {
            const Bytes piece = rest.first(std::min(kPiece, rest.size()));
            populate(piece);
            hash.add(piece.data(), piece.size());
            rest = rest.subspan(piece.size());
            done_ += piece.size();
            done_.notify_one();
          }
        })) {}

  /// Waits until so many bytes are hashed.
  void wait(size_t bytes) const {
    for (size_t done = done_; done < bytes; done = done_) done_.wait(done);
  }

 private:
  std::atomic<size_t> done_ = 0;
  std::jthread thread_;  // after what it uses
};

}  // namespace

int64_t bytes_copied(const NpyView& column, const fs::path& target) {
  std::error_code missing;
  const auto bytes = fs::file_size(target, missing);
  return missing || bytes > column.file().bytes().size() ? 0 : static_cast<int64_t>(bytes);
}

std::string copy_column(const NpyView& column, const fs::path& target, int64_t from, bool sync,
                        const std::function<void(int64_t)>& advanced, FileSystem& files) {
  DataHash hash(column.offset());
  File file = from > 0 ? File::update(target, files) : File::create(target, files);
  Vector<char, Tag::output> piece(from > 0 ? kPiece : 0);
  for (int64_t left = from; left > 0;) {
    const size_t got = file.read(piece.data(), std::min(piece.size(), static_cast<size_t>(left)));
    if (got == 0) break;  // shortened meanwhile: the checksum tells
    hash.add(piece.data(), got);
    left -= static_cast<int64_t>(got);
    advanced(static_cast<int64_t>(got));
  }
  const Bytes rest = column.file().bytes().subspan(static_cast<size_t>(from));
  const HashAhead ahead(rest, hash);
  for (size_t at = 0; at < rest.size();) {
    const Bytes next = rest.subspan(at, std::min(kPiece, rest.size() - at));
    at += next.size();
    ahead.wait(at);
    file.write_at(next.data() - column.file().bytes().data(), next.data(), next.size());
    advanced(static_cast<int64_t>(next.size()));
  }
  if (sync) file.sync();
  return hash.hex64();
}

}  // namespace plimsoll
