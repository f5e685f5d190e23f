#include "io/extent_reader.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace plimsoll {

ReadBuffers::ReadBuffers(int count, int64_t bytes)
    : memory_(static_cast<size_t>(taken(count, bytes))), count_(count), bytes_(bytes) {
  const auto past = static_cast<int64_t>(reinterpret_cast<uintptr_t>(memory_.data()) % kPage);
  first_ = memory_.data() + (kPage - past) % kPage;
}

void require_room(const AlignedFile& file, const Extent& extent, int64_t buffer_bytes) {
  if (extent.bytes > buffer_bytes)
    throw Failure(fmt::format(
        "{}: a read of {} bytes at byte {} is longer than its buffer of {}; this is a bug in Plimsoll",
        file.file.path(), extent.bytes, extent.offset, buffer_bytes));
}

bool advance(const AlignedFile& file, const Extent& extent, int64_t& done, int64_t got) {
  if (got == -EINTR || got == -EAGAIN) return false;
  const std::string& path = file.file.path();
  if (got < 0)
    throw Failure(fmt::format("cannot read {}: {} bytes at byte {}: {}", path, extent.bytes, extent.offset,
                              std::strerror(static_cast<int>(-got))));
  if (done + got >= extent.needed) return true;
  const int64_t end = extent.offset + done + got;
  got -= got % file.alignment;  // A direct read continues at the beginning of a sector.
  done += got;
  if (got == 0)
    throw InputError(fmt::format(
        "{}: the file ends at byte {}, expected {} bytes at byte {}; it was truncated while it was read",
        path, end, extent.needed, extent.offset));
  return false;
}

}  // namespace plimsoll
