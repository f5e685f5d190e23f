#include "engine/plan/blas_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/mutex.h"
#include "memory/c_heap.h"
#include "memory/ledger.h"
#include "memory/meter.h"

// Torch includes MKL without its headers (i_malloc.h). With another BLAS these symbols are null.
extern "C" {
extern __attribute__((weak)) void* (*i_malloc)(size_t bytes);
extern __attribute__((weak)) void* (*i_calloc)(size_t count, size_t bytes);
extern __attribute__((weak)) void* (*i_realloc)(void* at, size_t bytes);
extern __attribute__((weak)) void (*i_free)(void* at);
__attribute__((weak)) int mkl_serv_disable_fast_mm();
}

namespace plimsoll {
namespace {

constexpr size_t kMinBuffer = 16 << 10;  // Smaller requests come from malloc.

struct Buffer {
  void* at;
  size_t bytes;
  bool taken;
  pid_t last;  // The last thread that used the buffer; its cache may hold the content.
};

// All buffers: as many as were ever in use at the same time. MKL's own pool would keep, for each thread,
// every buffer that was too small for the next product. In this pool, a product gets the buffer that its
// thread used last, or the smallest free one that is large enough, or a new one that replaces a free one.
struct Buffers {
  Mutex mutex;
  std::vector<Buffer> all PLIMSOLL_GUARDED_BY(mutex);
};
// Never destroyed, because the library frees its buffers when the process ends.
Buffers& buffers() {
  static auto* const all = new Buffers;
  return *all;
}
bool watched = false;

// Maps fresh pages, so that the resident pages are those that were used. MKL places its packed data at the
// next 2 MiB boundary of its buffer. With buffers that all start at such a boundary, products of all sizes
// use the same pages, whatever the address.
void* map(size_t bytes) {
  constexpr size_t kBoundary = 2 << 20;
  void* const at =
      ::mmap(nullptr, bytes + kBoundary, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t before = -reinterpret_cast<uintptr_t>(at) % kBoundary;
  const size_t end = (before + bytes + page - 1) / page * page;
  auto* const first = static_cast<std::byte*>(at);
  if (before > 0) ::munmap(first, before);
  if (end < bytes + kBoundary) ::munmap(first + end, bytes + kBoundary - end);
  return first + before;
}

void* take_buffer(size_t bytes) PLIMSOLL_REQUIRES(buffers().mutex) {
  static thread_local const pid_t thread = ::gettid();
  std::vector<Buffer>& all = buffers().all;
  const auto before = [&](const Buffer& a, const Buffer& b) {
    return std::pair(a.last != thread, a.bytes) < std::pair(b.last != thread, b.bytes);
  };
  Buffer* fits = nullptr;
  Buffer* free = nullptr;
  for (Buffer& buffer : all) {
    if (buffer.taken) continue;
    if (free == nullptr || before(buffer, *free)) free = &buffer;
    if (buffer.bytes >= bytes && (fits == nullptr || before(buffer, *fits))) fits = &buffer;
  }
  if (fits == nullptr) {
    if (free == nullptr) all.reserve(all.size() + 1);
    void* const at = map(bytes);
    if (at == nullptr) return nullptr;
    if (free == nullptr)
      free = &all.emplace_back();
    else
      ::munmap(free->at, free->bytes);
    fits = free;
    fits->at = at;
    fits->bytes = bytes;
  }
  fits->taken = true;
  fits->last = thread;
  return fits->at;
}

void* take(size_t bytes) {
  if (bytes < kMinBuffer) return std::malloc(bytes);
  const MutexLock lock(buffers().mutex);
  try {
    return take_buffer(bytes);
  } catch (const std::bad_alloc&) {  // The caller is C.
    return nullptr;
  }
}

// Returns the buffer at an address, or null for memory from malloc.
Buffer* buffer_at(void* at) PLIMSOLL_REQUIRES(buffers().mutex) {
  const auto found = std::ranges::find(buffers().all, at, &Buffer::at);
  return found == buffers().all.end() ? nullptr : &*found;
}

void give(void* at) {
  if (at == nullptr) return;
  {
    const MutexLock lock(buffers().mutex);
    if (Buffer* const buffer = buffer_at(at)) {
      buffer->taken = false;
      return;
    }
  }
  std::free(at);
}

size_t bytes_of(void* at) {
  const MutexLock lock(buffers().mutex);
  const Buffer* const buffer = buffer_at(at);
  return buffer == nullptr ? 0 : buffer->bytes;
}

// Like realloc, it leaves the buffer unchanged if there is no memory for another one.
void* retake(void* at, size_t bytes) {
  const size_t held = at == nullptr ? 0 : bytes_of(at);
  if (held == 0) return std::realloc(at, bytes);
  void* const moved = take(bytes);
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, at, std::min(held, bytes));
  give(at);
  return moved;
}

int64_t used_bytes(const Buffer& buffer) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  std::array<unsigned char, 4096> resident{};
  int64_t pages = 0;
  for (size_t at = 0; at < buffer.bytes; at += resident.size() * page) {
    const size_t bytes = std::min(buffer.bytes - at, resident.size() * page);
    if (::mincore(static_cast<std::byte*>(buffer.at) + at, bytes, resident.data()) != 0) return 0;
    for (size_t p = 0; p < (bytes + page - 1) / page; ++p) pages += resident[p] & 1;
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
  if (&mkl_serv_disable_fast_mm != nullptr) mkl_serv_disable_fast_mm();
  watched = true;
}

std::optional<int64_t> blas_bytes() {
  if (!watched) return std::nullopt;
  const MutexLock lock(buffers().mutex);
  int64_t bytes = 0;
  for (const Buffer& buffer : buffers().all) bytes += used_bytes(buffer);
  return bytes;
}

int64_t bytes_outside_ledger() {
  if (const auto bytes = blas_bytes()) return *bytes;
  give_back_freed_memory();
  return process_memory().anonymous - Ledger::process().held();
}

}  // namespace plimsoll
