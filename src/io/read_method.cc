#include "io/read_method.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <map>

#include "base/mutex.h"

namespace plimsoll {
namespace {

constexpr std::array<const char*, 4> kNames = {"ring-direct", "pool-direct", "ring", "pool"};
constexpr int64_t kPageBytes = 4096;
constexpr int kMaxThreads = 16;
constexpr int kMaxQueued = 256;

bool is_direct(ReadMethod method) {
  return method == ReadMethod::ring_direct || method == ReadMethod::pool_direct;
}
bool is_ring(ReadMethod method) {
  return method == ReadMethod::ring_direct || method == ReadMethod::ring;
}

// Returns the random reads per second over some milliseconds, or 0 if the method is refused.
double probe(const std::filesystem::path& path, ReadMethod method) {
  using Clock = std::chrono::steady_clock;
  constexpr int kReads = 128;
  constexpr auto kLong = std::chrono::milliseconds(5);
  const auto opened = open_method(path, method, kPageBytes, kMaxQueued * kPageBytes);
  if (!opened) return 0;
  const int64_t pages = opened->file->bytes / kPageBytes;
  uint64_t state = 1;
  int64_t reads = 0;
  int left = 0;
  const auto next = [&](Extent& extent) {
    state = state * 6364136223846793005U + 1442695040888963407U;  // Knuth's constants. Any scattering of the
                                                                  // rows is good enough.
    extent = {static_cast<int64_t>((state >> 33) % static_cast<uint64_t>(pages)) * kPageBytes, kPageBytes,
              kPageBytes};
    return left-- > 0;
  };
  const auto round = [&] {
    left = kReads;
    opened->reader->read(next, [](const Extent&, const std::byte*) {});
  };
  round();  // Starts threads and touches pages.
  const auto start = Clock::now();
  for (; Clock::now() - start < kLong; reads += kReads) round();
  return static_cast<double>(reads) / std::chrono::duration<double>(Clock::now() - start).count();
}

// Returns the first method that is allowed. Used if the file is too small to measure.
ReadMethod first_allowed(const std::filesystem::path& path) {
  for (const ReadMethod method : {ReadMethod::ring_direct, ReadMethod::pool_direct, ReadMethod::ring})
    if (open_method(path, method, kPageBytes, kPageBytes)) return method;
  return ReadMethod::pool;
}

ReadMethod quickest(const std::filesystem::path& path) {
  // Threads take processor time from the caller, so they must be clearly faster.
  constexpr double kClearly = 1.25;
  for (const auto& [ring, pool] : {std::pair(ReadMethod::ring_direct, ReadMethod::pool_direct),
                                   std::pair(ReadMethod::ring, ReadMethod::pool)}) {
    const double by_ring = probe(path, ring);
    const double by_pool = probe(path, pool);
    if (by_ring > 0 || by_pool > 0) return by_pool > kClearly * by_ring ? pool : ring;
  }
  return ReadMethod::pool;
}

}  // namespace

const char* method_name(ReadMethod method) {
  return kNames[static_cast<size_t>(method)];
}

ReadMethod method_from_name(const std::string& name) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (name == kNames[i]) return static_cast<ReadMethod>(i);
  throw UsageError(
      fmt::format("'{}' is not a method of reading; expected one of {}", name, fmt::join(kNames, ", ")));
}

std::optional<OpenedMethod> open_method(const std::filesystem::path& path, ReadMethod method, int64_t longest,
                                        int64_t buffer_bytes) {
  OpenedMethod opened;
  if (is_direct(method)) {
    auto file = open_direct(path);
    if (!file) return std::nullopt;
    opened.file = std::make_unique<AlignedFile>(std::move(*file));
  } else {
    opened.file = std::make_unique<AlignedFile>(open_buffered(path));
  }
  const int64_t alignment = opened.file->alignment;
  const int64_t in_sectors = (longest + 2 * (alignment - 1)) / alignment * alignment;
  const int64_t room = in_sectors < kLongExtent ? in_sectors : in_sectors + 2 * kPageBytes;
  const int64_t max = is_ring(method) ? kMaxQueued : kMaxThreads;
  const int64_t stack = is_ring(method) ? 0 : kPoolStackBytes;
  const auto buffers = static_cast<int>(std::clamp(buffer_bytes / (room + stack), int64_t{1}, max));
  opened.reader = is_ring(method) ? make_ring_reader(*opened.file, buffers, room)
                                  : make_pool_reader(*opened.file, buffers, room);
  if (!opened.reader) return std::nullopt;
  opened.buffer_bytes = ReadBuffers::taken(buffers, room) + (buffers - 1) * stack;
  return opened;
}

ReadMethod choose_method(const std::filesystem::path& path) {
  static Mutex mutex;
  static std::map<uint64_t, ReadMethod> chosen PLIMSOLL_GUARDED_BY(mutex);  // By device.
  if (const char* const forced = std::getenv("PLIMSOLL_READ")) return method_from_name(forced);
  const AlignedFile file = open_buffered(path);
  if (file.bytes < 256 * kPageBytes) return first_allowed(path);
  const MutexLock lock(mutex);
  const auto known = chosen.find(file.identity.device);
  return known != chosen.end() ? known->second
                               : chosen.emplace(file.identity.device, quickest(path)).first->second;
}

}  // namespace plimsoll
