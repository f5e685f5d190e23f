#include "ops/blas_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

// torch has MKL inside, without its headers (i_malloc.h); another BLAS does not have these.
extern "C" {
extern __attribute__((weak)) void* (*i_malloc)(size_t bytes);
extern __attribute__((weak)) void* (*i_calloc)(size_t count, size_t bytes);
extern __attribute__((weak)) void* (*i_realloc)(void* at, size_t bytes);
extern __attribute__((weak)) void (*i_free)(void* at);
}

namespace plimsoll {
namespace {

constexpr size_t kLeastRoom = 64 << 10;  // what is smaller comes from malloc

struct Room {
  void* at;
  size_t bytes;
};
struct Rooms {
  std::mutex mutex;
  std::vector<Room> live;
};
// Never destroyed: the library frees rooms when the process ends.
Rooms& rooms() {
  static auto* const all = new Rooms;
  return *all;
}
bool watched = false;

// Fresh pages, so that those in memory are those that were used.
void* take(size_t bytes) {
  if (bytes < kLeastRoom) return std::malloc(bytes);
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  try {
    const std::lock_guard lock(rooms().mutex);
    rooms().live.push_back({at, bytes});
  } catch (const std::bad_alloc&) {  // the caller is C
    ::munmap(at, bytes);
    return nullptr;
  }
  return at;
}

// The bytes of a room; 0 for what came from malloc.
size_t bytes_of(void* at) {
  const std::lock_guard lock(rooms().mutex);
  const auto found = std::ranges::find(rooms().live, at, &Room::at);
  return found == rooms().live.end() ? 0 : found->bytes;
}

// The bytes of a room, struck off the list; 0 for what came from malloc.
size_t strike(void* at) {
  const std::lock_guard lock(rooms().mutex);
  auto& live = rooms().live;
  const auto found = std::ranges::find(live, at, &Room::at);
  if (found == live.end()) return 0;
  const size_t bytes = found->bytes;
  live.erase(found);
  return bytes;
}

void give(void* at) {
  if (at == nullptr) return;
  const size_t bytes = strike(at);
  if (bytes == 0)
    std::free(at);
  else
    ::munmap(at, bytes);
}

// As realloc does, it leaves the room as it was where there is no other.
void* retake(void* at, size_t bytes) {
  const size_t held = at == nullptr ? 0 : bytes_of(at);
  if (held == 0) return std::realloc(at, bytes);
  void* const moved = take(bytes);
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, at, std::min(held, bytes));
  give(at);
  return moved;
}

int64_t used_bytes(const Room& room) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  std::array<unsigned char, 4096> there{};
  int64_t pages = 0;
  for (size_t at = 0; at < room.bytes; at += there.size() * page) {
    const size_t bytes = std::min(room.bytes - at, there.size() * page);
    if (::mincore(static_cast<std::byte*>(room.at) + at, bytes, there.data()) != 0) return 0;
    for (size_t p = 0; p < (bytes + page - 1) / page; ++p) pages += there[p] & 1;
  }
  return pages * static_cast<int64_t>(page);
}

}  // namespace

void watch_blas_memory() {
  if (&i_malloc == nullptr || &i_calloc == nullptr || &i_realloc == nullptr || &i_free == nullptr) return;
  if (watched) return;
  i_malloc = take;
  i_calloc = std::calloc;
  i_realloc = retake;
  i_free = give;
  watched = true;
}

std::optional<int64_t> blas_bytes() {
  if (!watched) return std::nullopt;
  const std::lock_guard lock(rooms().mutex);
  int64_t bytes = 0;
  for (const Room& room : rooms().live) bytes += used_bytes(room);
  return bytes;
}

}  // namespace plimsoll
