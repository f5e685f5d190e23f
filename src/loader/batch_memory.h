#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace plimsoll {

class BatchMemory;

/// What the ledger enters for a tensor of a batch: a large one is rounded up by as much as an eighth.
int64_t batch_buffer_bytes(int64_t bytes);

/// Memory of one tensor, 64-byte aligned, in the ledger from before it is taken until after it is given back.
/// May be destroyed on any thread, and after everything else of its loader.
class BatchBuffer {
 public:
  BatchBuffer() = default;
  BatchBuffer(BatchBuffer&& other) noexcept;
  BatchBuffer& operator=(BatchBuffer&& other) noexcept;
  ~BatchBuffer();

  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }  ///< as entered in the ledger
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  /// From now on it is the user's: live, and no longer ahead.
  void deliver();

 private:
  friend class BatchMemory;
  void* data_ = nullptr;
  int64_t bytes_ = 0;  // as entered in the ledger
  bool mapped_ = false;
  bool delivered_ = false;
  std::shared_ptr<BatchMemory> owner_;
};

/// The memory of one loader's batches, under Tag::blocks. It counts what delivered batches hold. Beside these
/// it keeps freed buffers for the next batches, whose pages need not be asked of the system again: what is
/// kept and what is read ahead are at most kAhead together, or one batch. Thread-safe. A child of fork() may
/// free what its parent took.
class BatchMemory : public std::enable_shared_from_this<BatchMemory> {
 public:
  static constexpr int64_t kAhead = int64_t{16} << 20;

  static std::shared_ptr<BatchMemory> make() { return std::shared_ptr<BatchMemory>(new BatchMemory); }
  ~BatchMemory();
  BatchMemory(const BatchMemory&) = delete;
  BatchMemory& operator=(const BatchMemory&) = delete;

  /// A buffer for each tensor of a batch: all or none, so that a refusal takes nothing from others meanwhile.
  /// What is kept gives way first. Errors: BudgetExceeded.
  std::vector<BatchBuffer> take(std::span<const int64_t> bytes);

  /// Gives what is kept back to the system.
  void drop();

  /// What delivered batches hold, in bytes.
  int64_t live() const;
  /// What batches hold that are being made or wait to be delivered.
  int64_t ahead() const;

  /// Freed buffers are kept while one of these lives; with the last they go back to the system.
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
  void drop_kept() noexcept;

  const pid_t process_;
  mutable std::mutex mutex_;
  std::multimap<int64_t, void*> kept_;  // guarded by mutex_, as all below; by size
  int64_t keeping_ = 0;                 // how many Keeping live
  int64_t kept_bytes_ = 0;
  int64_t live_ = 0;
  int64_t ahead_ = 0;
  int64_t largest_ = 0;  // of all batches that were taken
};

}  // namespace plimsoll
