#include "job/column_copy.h"

#include <unistd.h>

#include <algorithm>

#include "base/units.h"
#include "io/file.h"
#include "memory/vector.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

// A chunk stays in the processor's cache from reading to writing.
constexpr size_t kPiece = 256 * kKiB;

// Hashes the data of a column without its header.
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

std::string copy_column(const NpyView& column, const fs::path& target, int64_t from, bool sync,
                        const std::function<void(int64_t)>& advanced, FileSystem& files) {
  DataHash hash(column.offset());
  File file = from > 0 ? File::update(target, files) : File::create(target, files);
  File source = File::open(column.file().path());
  if (::lseek(source.descriptor(), from, SEEK_SET) != from) throw file_failure("cannot read", source.path());
  Vector<char, Tag::output> piece(kPiece);
  const auto bytes = static_cast<int64_t>(column.file().bytes().size());
  for (int64_t at = 0; at < bytes;) {
    File& read = at < from ? file : source;
    const size_t got =
        read.read(piece.data(), std::min(kPiece, static_cast<size_t>((at < from ? from : bytes) - at)));
    if (got == 0) break;  // The file was truncated during the copy. The checksum will differ.
    hash.add(piece.data(), got);
    if (at >= from) file.write_at(at, piece.data(), got);
    at += static_cast<int64_t>(got);
    advanced(static_cast<int64_t>(got));
  }
  if (sync) file.sync();
  return hash.hex64();
}

}  // namespace plimsoll
