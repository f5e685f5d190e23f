#include "job/column_copy.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>

#include "base/units.h"
#include "io/file.h"
#include "memory/vector.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

// Hashed, a piece is in the processor's cache when it is written.
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

}  // namespace

int64_t bytes_copied(const NpyView& column, const fs::path& target) {
  std::error_code missing;
  const auto bytes = fs::file_size(target, missing);
  return missing || bytes > column.file().bytes().size() ? 0 : static_cast<int64_t>(bytes);
}

std::string copy_column(const NpyView& column, const fs::path& target, int64_t from,
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
  for (auto rest = column.file().bytes().subspan(static_cast<size_t>(from)); !rest.empty();) {
    const auto next = rest.first(std::min(kPiece, rest.size()));
    // All pages of a piece in one call; where the system cannot, they come one by one.
    const auto begin = reinterpret_cast<uintptr_t>(next.data()) & ~uintptr_t{4095};
    const size_t length = reinterpret_cast<uintptr_t>(next.data()) + next.size() - begin;
    ::madvise(reinterpret_cast<void*>(begin), length, MADV_POPULATE_READ);
    hash.add(next.data(), next.size());
    file.write_at(rest.data() - column.file().bytes().data(), next.data(), next.size());
    rest = rest.subspan(next.size());
    advanced(static_cast<int64_t>(next.size()));
  }
  file.sync();
  return hash.hex64();
}

}  // namespace plimsoll
