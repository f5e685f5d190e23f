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

/// Returns the bytes that the ledger is charged for a tensor of a batch: a large tensor is rounded up by at
/// most an eighth.
int64_t batch_buffer_bytes(int64_t bytes);

/// Memory of one tensor, 64-byte aligned. It is charged to the ledger from before it is allocated until after
/// it is freed. It may be destroyed on any thread, and after everything else of its loader.
class BatchBuffer {
 public:
  BatchBuffer() = default;
  BatchBuffer(BatchBuffer&& other) noexcept;
  BatchBuffer& operator=(BatchBuffer&& other) noexcept;
  ~BatchBuffer();

  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }  ///< Bytes charged to the ledger.
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  /// Hands the buffer to the user: it counts as live instead of ahead.
  void deliver();

 private:
  friend class BatchMemory;
  void* data_ = nullptr;
  int64_t bytes_ = 0;  // Bytes charged to the ledger.
  bool mapped_ = false;
  bool delivered_ = false;
  std::shared_ptr<BatchMemory> owner_;
};

/// Memory of one loader's batches, under Tag::blocks. It counts the bytes of delivered batches. It also keeps
/// freed buffers for the next batches, so that their pages need not be requested from the system again.
/// Buffers that are kept or made ahead have at most kAhead bytes in total, or one batch. Thread-safe. A child
/// of fork() may free memory that its parent allocated.
class BatchMemory : public std::enable_shared_from_this<BatchMemory> {
 public:
  static constexpr int64_t kAhead = int64_t{16} << 20;

  static std::shared_ptr<BatchMemory> make() { return std::shared_ptr<BatchMemory>(new BatchMemory); }
  ~BatchMemory();
  BatchMemory(const BatchMemory&) = delete;
  BatchMemory& operator=(const BatchMemory&) = delete;

  /// Allocates a buffer for each tensor of a batch: either all or none, so that after a refusal nothing is
  /// withheld from other threads. Kept buffers are freed first if needed. Errors: BudgetExceeded.
  std::vector<BatchBuffer> take(std::span<const int64_t> bytes);

  /// Returns kept buffers to the system.
  void drop();

  /// Bytes of delivered batches.
  int64_t live() const;
  /// Bytes of batches that are being made or wait to be delivered.
  int64_t ahead() const;

  /// Freed buffers are kept while an object of this class lives; with the last one they return to the system.
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
