#include "io/aligned_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace plimsoll {
namespace {

// Returns the alignment that statx reports, or 0 if the kernel (before Linux 6.1) or the file system reports
// none.
int64_t reported_alignment([[maybe_unused]] int file) {
#ifdef STATX_DIOALIGN
  struct statx status {};
  if (::statx(file, "", AT_EMPTY_PATH, STATX_DIOALIGN, &status) == 0 &&
      (status.stx_mask & STATX_DIOALIGN) != 0)
    return std::max(status.stx_dio_offset_align, status.stx_dio_mem_align);
#endif
  return 0;
}

bool reads_at(int file, int64_t alignment) {
  alignas(4096) std::array<char, 8192> sector;
  return ::pread(file, sector.data() + alignment, static_cast<size_t>(alignment), alignment) >= 0;
}

// Returns the alignment of a descriptor with O_DIRECT, or 0 if it cannot read.
int64_t alignment_of(int file) {
  if (const int64_t reported = reported_alignment(file); reported > 0) return reported;
  for (const int64_t tried : {512, 4096})
    if (reads_at(file, tried)) return tried;
  return 0;
}

}  // namespace

AlignedFile open_buffered(const std::filesystem::path& path) {
  AlignedFile opened{File::open(path)};
  struct stat status {};
  if (::fstat(opened.file.descriptor(), &status) != 0) throw file_failure("cannot stat", path);
  opened.bytes = status.st_size;
  opened.identity = {status.st_dev, status.st_ino};
  return opened;
}

std::optional<AlignedFile> open_direct(const std::filesystem::path& path) {
  AlignedFile opened = open_buffered(path);
  const int file = opened.file.descriptor();
  if (::fcntl(file, F_SETFL, O_DIRECT) != 0) return std::nullopt;
  opened.alignment = alignment_of(file);
  if (opened.alignment == 0) return std::nullopt;
  opened.direct = true;
  return opened;
}

}  // namespace plimsoll
