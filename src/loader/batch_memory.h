#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/mutex.h"

namespace plimsoll {

class BatchMemory;

/// Returns the bytes that are entered in the ledger for a tensor of `bytes` bytes: 64 more for a small
/// tensor, and at most an eighth more for one of 64 KiB or above.
int64_t batch_buffer_bytes(int64_t bytes);

/// The memory of one tensor, 64-byte aligned and not initialised. It is entered in the ledger before it is
/// allocated, and removed from it after it is freed; a buffer that BatchMemory keeps stays entered. It may be
/// destroyed on any thread, and after its loader. A default-constructed buffer has no memory.
class BatchBuffer {
 public:
  BatchBuffer() = default;
  BatchBuffer(BatchBuffer&& other) noexcept;
  BatchBuffer& operator=(BatchBuffer&& other) noexcept;
  ~BatchBuffer();

  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }  ///< Bytes entered in the ledger.
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  /// Marks the buffer as delivered to the user: it counts in live(), no longer in ahead().
  void deliver();

 private:
  friend class BatchMemory;
  void* data_ = nullptr;
  int64_t bytes_ = 0;  // Bytes entered in the ledger.
  bool mapped_ = false;
  bool delivered_ = false;
  std::shared_ptr<BatchMemory> owner_;
};

/// The memory of one loader's batches, entered under Tag::blocks. It counts the bytes of delivered batches,
/// and keeps freed buffers for later batches, so that their pages need not be requested from the system
/// again. Buffers that are kept or made ahead have at most kAhead bytes in total, or the bytes of one batch
/// if that is larger. Thread-safe. A child of fork() may free memory that its parent allocated.
class BatchMemory : public std::enable_shared_from_this<BatchMemory> {
 public:
  static constexpr int64_t kAhead = int64_t{16} << 20;

  static std::shared_ptr<BatchMemory> make() { return std::shared_ptr<BatchMemory>(new BatchMemory); }
  ~BatchMemory();
  BatchMemory(const BatchMemory&) = delete;
  BatchMemory& operator=(const BatchMemory&) = delete;

  /// Allocates a buffer for each tensor of a batch, either all or none, so that after a refusal no memory is
  /// withheld from other threads. If needed, kept buffers are freed first. Errors: BudgetExceeded.
  std::vector<BatchBuffer> take(std::span<const int64_t> bytes);

  /// Returns kept buffers to the system.
  void drop();

  /// Bytes of delivered batches.
  int64_t live() const;
  /// Bytes of batches that are being made or wait to be delivered.
  int64_t ahead() const;

  /// Freed buffers are kept while any object of this class lives. When the last one is destroyed, they return
  /// to the system. The memory must outlive it.
  class Keeping {
   public:
    explicit Keeping(BatchMemory& memory) : memory_(memory) { memory_.keep(1); }
    ~Keeping() { memory_.keep(-1); }
    Keeping(const Keeping&) = delete;
    Keeping& operator=(const Keeping&) = delete;

   private:
    BatchMemory& memory_;
  };

 private:
  friend class BatchBuffer;
  BatchMemory();
  std::vector<BatchBuffer> try_take(std::span<const int64_t> bytes);
  void keep(int64_t more);
  void take_kept(BatchBuffer& buffer);
  void give(BatchBuffer& buffer) noexcept;
  void drop_kept() noexcept PLIMSOLL_REQUIRES(mutex_);

  const pid_t process_;
  mutable Mutex mutex_;
  std::multimap<int64_t, void*> kept_ PLIMSOLL_GUARDED_BY(mutex_);  // Ordered by size.
  int64_t keeping_ PLIMSOLL_GUARDED_BY(mutex_) = 0;                 // Number of Keeping objects.
  int64_t kept_bytes_ PLIMSOLL_GUARDED_BY(mutex_) = 0;
  int64_t live_ PLIMSOLL_GUARDED_BY(mutex_) = 0;
  int64_t ahead_ PLIMSOLL_GUARDED_BY(mutex_) = 0;
  int64_t largest_ PLIMSOLL_GUARDED_BY(mutex_) = 0;  // Bytes of the largest batch so far.
};

}  // namespace plimsoll
