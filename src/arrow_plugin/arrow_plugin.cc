// The functions of the shared library lib/libplimsoll_arrow.so.

#include "io/arrow_plugin.h"

#include <arrow/c/bridge.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "arrow_plugin/csv_batches.h"
#include "arrow_plugin/file_batches.h"
#include "arrow_plugin/object_store.h"
#include "arrow_plugin/require_memory.h"

namespace {

// Enters every buffer of Arrow in the ledger of the program. It lives as long as the process, as buffers may
// outlive their reader.
class LedgerPool final : public arrow::MemoryPool {
 public:
  explicit LedgerPool(const PlimsollArrowPool& ledger) : ledger_(ledger) {}

  arrow::Status Allocate(int64_t size, int64_t alignment, uint8_t** out) override {
    if (size == 0) {
      *out = kEmpty;
      return arrow::Status::OK();
    }
    if (ledger_.take(size) != 0) return arrow::Status::OutOfMemory("out of budget");
    void* const piece = ledger_.allocate(size, alignment);
    if (piece == nullptr) {
      ledger_.give(size);
      return arrow::Status::OutOfMemory("allocation of ", size, " bytes failed");
    }
    *out = static_cast<uint8_t*>(piece);
    held_ += size;
    total_ += size;
    ++count_;
    return arrow::Status::OK();
  }
  arrow::Status Reallocate(int64_t old_size, int64_t new_size, int64_t alignment, uint8_t** out) override {
    uint8_t* moved = nullptr;
    ARROW_RETURN_NOT_OK(Allocate(new_size, alignment, &moved));
    std::memcpy(moved, *out, static_cast<size_t>(std::min(old_size, new_size)));
    Free(*out, old_size, alignment);
    *out = moved;
    return arrow::Status::OK();
  }
  void Free(uint8_t* buffer, int64_t size, int64_t /*alignment*/) override {
    if (buffer == kEmpty) return;
    ledger_.release(buffer, size);
    ledger_.give(size);
    held_ -= size;
  }
  // As require_memory() says.
  arrow::Status Require(int64_t bytes) const {
    if (ledger_.take(0) != 0) return arrow::Status::OutOfMemory("interrupted");
    if (ledger_.take(bytes) != 0) return arrow::Status::OutOfMemory("out of budget");
    ledger_.give(bytes);
    return arrow::Status::OK();
  }
  int64_t FreeBytes() const { return ledger_.free(); }
  int64_t bytes_allocated() const override { return held_; }
  int64_t total_bytes_allocated() const override { return total_; }
  int64_t num_allocations() const override { return count_; }
  std::string backend_name() const override { return "plimsoll"; }

 private:
  alignas(64) static inline uint8_t kEmpty[64] = {};
  PlimsollArrowPool ledger_;
  std::atomic<int64_t> held_{0}, total_{0}, count_{0};
};

int say(const std::string& text, int code, char* error, int64_t error_bytes) {
  const auto bytes = std::min(text.size(), static_cast<size_t>(std::max<int64_t>(error_bytes - 1, 0)));
  if (error_bytes > 0) std::memcpy(error, text.data(), bytes);
  if (error_bytes > 0) error[bytes] = '\0';
  return code;
}

// Returns the one pool of the process.
LedgerPool* pool_of(const PlimsollArrowPool& ledger) {
  static LedgerPool* const pool = new LedgerPool(ledger);
  return pool;
}

// Calls `open` with the pool of the program, and returns an errno and the text of its error.
template <typename Open>
int run_open(const PlimsollArrowPool* pool, char* error, int64_t error_bytes, const Open& open) {
  try {
    const arrow::Status status = open(pool_of(*pool));
    if (status.ok()) return 0;
    return say(status.message(), status.IsOutOfMemory() ? ENOMEM : EINVAL, error, error_bytes);
  } catch (const std::exception& failure) {
    return say(failure.what(), EINVAL, error, error_bytes);
  }
}

}  // namespace

arrow::Status require_memory(arrow::MemoryPool* pool, int64_t bytes) {
  return static_cast<LedgerPool*>(pool)->Require(bytes);
}

int64_t free_memory(arrow::MemoryPool* pool) {
  return static_cast<LedgerPool*>(pool)->FreeBytes();
}

#define PLIMSOLL_EXPORT extern "C" __attribute__((visibility("default")))

PLIMSOLL_EXPORT int plimsoll_arrow_open(const char* store, const char* path, const PlimsollArrowPool* pool,
                                        int64_t rows, struct ArrowArrayStream* stream, char* error,
                                        int64_t error_bytes) {
  return run_open(pool, error, error_bytes, [&](arrow::MemoryPool* ledger) -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(const auto source, open_source(store, path, ledger));
    ARROW_ASSIGN_OR_RAISE(auto batches, open_batches(source, ledger, rows, read_ahead_of(store, ledger)));
    return arrow::ExportRecordBatchReader(std::move(batches), stream);
  });
}

PLIMSOLL_EXPORT int plimsoll_arrow_open_csv(const char* store, const char* const* paths, int64_t count,
                                            const PlimsollArrowPool* pool, int64_t rows,
                                            struct ArrowArrayStream* stream, char* error,
                                            int64_t error_bytes) {
  return run_open(pool, error, error_bytes, [&](arrow::MemoryPool* ledger) -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(auto batches,
                          open_csv(store, std::vector<std::string>(paths, paths + count), ledger, rows));
    return arrow::ExportRecordBatchReader(std::move(batches), stream);
  });
}

PLIMSOLL_EXPORT int plimsoll_arrow_find_object(const char* store, const char* path,
                                               const PlimsollArrowPool* pool, PlimsollObject* found,
                                               char* error, int64_t error_bytes) {
  return run_open(pool, error, error_bytes,
                  [&](arrow::MemoryPool* ledger) { return find_object(store, path, ledger).Value(found); });
}

PLIMSOLL_EXPORT int plimsoll_arrow_list_objects(const char* store, const char* folder,
                                                const PlimsollArrowPool* pool,
                                                void (*add)(void* paths, const char* path), void* paths,
                                                char* error, int64_t error_bytes) {
  return run_open(pool, error, error_bytes, [&](arrow::MemoryPool* ledger) -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(const auto found, list_objects(store, folder, ledger));
    for (const std::string& path : found) add(paths, path.c_str());
    return arrow::Status::OK();
  });
}

PLIMSOLL_EXPORT int plimsoll_arrow_read_object(const char* store, const char* path,
                                               const PlimsollArrowPool* pool, char* text, int64_t bytes,
                                               char* error, int64_t error_bytes) {
  return run_open(pool, error, error_bytes, [&](arrow::MemoryPool* ledger) -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(const auto source, open_source(store, path, ledger));
    ARROW_ASSIGN_OR_RAISE(const int64_t got, source->ReadAt(0, bytes, text));
    return got == bytes ? arrow::Status::OK() : arrow::Status::IOError("has ", got, " bytes");
  });
}
