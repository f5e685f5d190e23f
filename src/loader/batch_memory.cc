#include "loader/batch_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>
#include <utility>

#include "base/units.h"
#include "memory/ledger.h"

namespace plimsoll {
namespace {

constexpr int64_t kAlignment = 64;
// Smaller buffers use malloc, which reuses freed memory. Larger ones are mapped, so that freed memory returns
// to the system.
constexpr int64_t kMapped = 64 * kKiB;

// The pointer that malloc returned is stored right before the aligned data. malloc aligns to 16 bytes, so
// there is space for it.
void* take_small(int64_t bytes) {
  void* const piece = std::malloc(static_cast<size_t>(bytes));
  if (piece == nullptr) return nullptr;
  const uintptr_t begin = reinterpret_cast<uintptr_t>(piece);
  auto* const data =
      reinterpret_cast<void**>(static_cast<std::byte*>(piece) + kAlignment - begin % kAlignment);
  data[-1] = piece;
  return data;
}

void* take_mapped(int64_t bytes) {
  void* const data =
      mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  // Fresh pages cost more than copying the data; huge pages cost a tenth of that.
  madvise(data, static_cast<size_t>(bytes), MADV_HUGEPAGE);
  return data;
}

void give_back(void* data, int64_t bytes, bool mapped) noexcept {
  if (mapped)
    munmap(data, static_cast<size_t>(bytes));
  else
    std::free(static_cast<void**>(data)[-1]);
  Ledger::process().give(Tag::blocks, bytes);
}

}  // namespace

// Batches differ a little in size. Rounding to eighths of a power of two lets one batch reuse the buffers of
// another.
int64_t batch_buffer_bytes(int64_t bytes) {
  if (bytes < kMapped) return bytes + kAlignment;
  const auto step = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(bytes))) / 8;
  return (bytes + step - 1) / step * step;
}

BatchBuffer::BatchBuffer(BatchBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(other.bytes_),
      mapped_(other.mapped_),
      delivered_(other.delivered_),
      owner_(std::move(other.owner_)) {}

BatchBuffer& BatchBuffer::operator=(BatchBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(mapped_, other.mapped_);
  std::swap(delivered_, other.delivered_);
  std::swap(owner_, other.owner_);
  return *this;
}

BatchBuffer::~BatchBuffer() {
  if (data_ != nullptr) owner_->give(*this);
}

void BatchBuffer::deliver() {
  if (data_ == nullptr || delivered_) return;
  const MutexLock lock(owner_->mutex_);
  delivered_ = true;
  owner_->ahead_ -= bytes_;
  owner_->live_ += bytes_;
}

BatchMemory::BatchMemory() : process_(getpid()) {}

BatchMemory::~BatchMemory() {
  drop_kept();
}

std::vector<BatchBuffer> BatchMemory::take(std::span<const int64_t> bytes) {
  try {
    return try_take(bytes);
  } catch (const BudgetExceeded&) {
    const MutexLock lock(mutex_);
    if (kept_.empty()) throw;
    drop_kept();
  }
  return try_take(bytes);
}

std::vector<BatchBuffer> BatchMemory::try_take(std::span<const int64_t> bytes) {
  // If an exception is thrown below, the buffers that have data are freed.
  std::vector<BatchBuffer> buffers(bytes.size());
  int64_t missing = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    BatchBuffer& buffer = buffers[i];
    buffer.owner_ = shared_from_this();
    buffer.bytes_ = batch_buffer_bytes(bytes[i]);
    buffer.mapped_ = bytes[i] >= kMapped;
    if (buffer.mapped_) take_kept(buffer);
    if (buffer.data_ == nullptr) missing += buffer.bytes_;
  }
  Ledger& ledger = Ledger::process();
  ledger.take(Tag::blocks, missing);
  int64_t sum = 0;
  for (BatchBuffer& buffer : buffers) {
    sum += buffer.bytes_;
    if (buffer.data_ != nullptr) continue;
    buffer.data_ = buffer.mapped_ ? take_mapped(buffer.bytes_) : take_small(buffer.bytes_);
    if (buffer.data_ == nullptr) {
      ledger.give(Tag::blocks, missing);
      throw BudgetExceeded(Tag::blocks, buffer.bytes_, 0, ledger.cap());
    }
    missing -= buffer.bytes_;
    const MutexLock lock(mutex_);
    ahead_ += buffer.bytes_;
  }
  const MutexLock lock(mutex_);
  largest_ = std::max(largest_, sum);
  return buffers;
}

void BatchMemory::take_kept(BatchBuffer& buffer) {
  const MutexLock lock(mutex_);
  const auto found = kept_.find(buffer.bytes_);
  if (found == kept_.end()) return;
  buffer.data_ = found->second;
  kept_.erase(found);
  kept_bytes_ -= buffer.bytes_;
  ahead_ += buffer.bytes_;
}

void BatchMemory::drop() {
  const MutexLock lock(mutex_);
  drop_kept();
}

int64_t BatchMemory::live() const {
  const MutexLock lock(mutex_);
  return live_;
}

int64_t BatchMemory::ahead() const {
  const MutexLock lock(mutex_);
  return ahead_;
}

void BatchMemory::keep(int64_t more) {
  const MutexLock lock(mutex_);
  keeping_ += more;
  if (keeping_ == 0) drop_kept();
}

void BatchMemory::give(BatchBuffer& buffer) noexcept {
  // A child of fork() has no thread that would unlock a mutex locked during the fork.
  if (getpid() == process_) {
    const MutexLock lock(mutex_);
    (buffer.delivered_ ? live_ : ahead_) -= buffer.bytes_;
    if (buffer.mapped_ && keeping_ > 0 &&
        kept_bytes_ + ahead_ + buffer.bytes_ <= std::max(kAhead, largest_)) {
      try {
        kept_.emplace(buffer.bytes_, buffer.data_);
        kept_bytes_ += buffer.bytes_;
        return;
      } catch (const std::bad_alloc&) {  // There is no memory to record the buffer, so it is freed.
      }
    }
  }
  give_back(buffer.data_, buffer.bytes_, buffer.mapped_);
}

void BatchMemory::drop_kept() noexcept {
  for (const auto& [bytes, data] : kept_) give_back(data, bytes, true);
  kept_.clear();
  kept_bytes_ = 0;
}

}  // namespace plimsoll
