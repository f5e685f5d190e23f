#include "io/arrow_overflow.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "memory/ledger.h"

namespace plimsoll {
namespace {

constexpr int64_t kPage = 4096;
constexpr int64_t kAddresses = int64_t{1} << 43;  // 8 TiB, of which only blocks in use are on disk.

ArrowOverflow* overflow = nullptr;

// Returns the size of the piece for a buffer: a power of 2, so that released pieces suit later buffers.
int64_t size_of(int64_t bytes) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max(bytes, kPage))));
}

int open_nameless(const std::filesystem::path& folder) {
  if (ScratchFile::is_in_memory(folder)) throw Failure(folder.string() + ": is in memory");
  const int descriptor = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor < 0) throw system_failure("cannot make a file in", folder.string());
  return descriptor;
}

}  // namespace

ArrowOverflow::ArrowOverflow(const std::filesystem::path& folder) : descriptor_(open_nameless(folder)) {
  void* const mapped =
      ::ftruncate(descriptor_, kAddresses) == 0
          ? ::mmap(nullptr, kAddresses, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor_, 0)
          : MAP_FAILED;
  if (mapped == MAP_FAILED) {
    const Failure failure = system_failure("cannot map a file in", folder.string());
    ::close(descriptor_);
    throw failure;
  }
  begin_ = static_cast<std::byte*>(mapped);
  overflow = this;
}

ArrowOverflow::~ArrowOverflow() {
  overflow = nullptr;
  ::munmap(begin_, kAddresses);
  ::close(descriptor_);
}

void ArrowOverflow::raise_cap(int64_t bytes) {
  Ledger& ledger = Ledger::process();
  if (ledger.cap() != Ledger::kUnlimited) ledger.set_cap(ledger.cap() + bytes);
}

ArrowOverflow* ArrowOverflow::current() {
  return overflow;
}

void* ArrowOverflow::allocate(int64_t bytes) {
  const int64_t size = size_of(bytes);
  if (std::vector<void*>& free = free_[size]; !free.empty()) {
    void* const piece = free.back();
    free.pop_back();
    return piece;
  }
  // Blocks are allocated first, as a write to a mapped page on a full disk would end the process.
  if (size > kAddresses - end_ || ::posix_fallocate(descriptor_, end_, size) != 0) return nullptr;
  void* const piece = begin_ + end_;
  end_ += size;
  return piece;
}

void ArrowOverflow::release(void* piece, int64_t bytes) {
  free_[size_of(bytes)].push_back(piece);
}

}  // namespace plimsoll
