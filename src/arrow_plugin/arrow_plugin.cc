// The functions of the shared library lib/libplimsoll_arrow.so.

#include "io/arrow_plugin.h"

#include <arrow/buffer.h>
#include <arrow/c/bridge.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <parquet/arrow/reader.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arrow_plugin/csv_batches.h"
#include "arrow_plugin/require_memory.h"

namespace {

constexpr int64_t kStreamBuffer = 64 << 10;  // Bytes read ahead of each column.
constexpr const char* kEncrypted =
    "is encrypted Parquet, whose keys plimsoll does not take; write it without encryption";

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
    void* piece = nullptr;
    if (::posix_memalign(&piece, static_cast<size_t>(std::max<int64_t>(alignment, 8)),
                         static_cast<size_t>(size)) != 0) {
      ledger_.give(size);
      return arrow::Status::OutOfMemory("malloc of ", size, " bytes failed");
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
    std::free(buffer);
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
  int64_t bytes_allocated() const override { return held_; }
  int64_t total_bytes_allocated() const override { return total_; }
  int64_t num_allocations() const override { return count_; }
  std::string backend_name() const override { return "plimsoll"; }

 private:
  alignas(64) static inline uint8_t kEmpty[64] = {};
  PlimsollArrowPool ledger_;
  std::atomic<int64_t> held_{0}, total_{0}, count_{0};
};

// The batches of a Parquet file, whose reader must outlive them.
class ParquetBatches final : public arrow::RecordBatchReader {
 public:
  explicit ParquetBatches(std::unique_ptr<parquet::arrow::FileReader> file) : file_(std::move(file)) {}

  arrow::Status Open() { return file_->GetRecordBatchReader().Value(&batches_); }
  std::shared_ptr<arrow::Schema> schema() const override { return batches_->schema(); }
  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    return batches_->ReadNext(batch);
  }

 private:
  std::unique_ptr<parquet::arrow::FileReader> file_;
  std::shared_ptr<arrow::RecordBatchReader> batches_;
};

// The batches of an Arrow IPC file, one after the other, checked as CheckedBatches does.
class IpcBatches final : public arrow::RecordBatchReader {
 public:
  explicit IpcBatches(std::shared_ptr<arrow::ipc::RecordBatchFileReader> file) : file_(std::move(file)) {}

  std::shared_ptr<arrow::Schema> schema() const override { return file_->schema(); }
  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    batch->reset();
    if (next_ == file_->num_record_batches()) return arrow::Status::OK();
    ARROW_RETURN_NOT_OK(file_->ReadRecordBatch(next_++).Value(batch));
    return (*batch)->ValidateFull();
  }

 private:
  std::shared_ptr<arrow::ipc::RecordBatchFileReader> file_;
  int next_ = 0;
};

// The batches of an Arrow IPC stream. Arrow checks neither lengths nor offsets when it reads IPC.
class CheckedBatches final : public arrow::RecordBatchReader {
 public:
  explicit CheckedBatches(std::shared_ptr<arrow::RecordBatchReader> from) : from_(std::move(from)) {}

  std::shared_ptr<arrow::Schema> schema() const override { return from_->schema(); }
  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    ARROW_RETURN_NOT_OK(from_->ReadNext(batch));
    return *batch == nullptr ? arrow::Status::OK() : (*batch)->ValidateFull();
  }

 private:
  std::shared_ptr<arrow::RecordBatchReader> from_;
};

using Batches = std::shared_ptr<arrow::RecordBatchReader>;
using Source = std::shared_ptr<arrow::io::RandomAccessFile>;

arrow::Result<Batches> open_parquet(const Source& source, arrow::MemoryPool* pool, int64_t rows) {
  parquet::ReaderProperties properties(pool);
  properties.enable_buffered_stream();
  properties.set_buffer_size(kStreamBuffer);
  parquet::ArrowReaderProperties reading(/*use_threads=*/false);
  reading.set_pre_buffer(false);
  reading.set_batch_size(rows);
  parquet::arrow::FileReaderBuilder builder;
  ARROW_RETURN_NOT_OK(builder.Open(source, properties));
  if (builder.raw_reader()->metadata()->is_encryption_algorithm_set())
    return arrow::Status::Invalid(kEncrypted);
  std::unique_ptr<parquet::arrow::FileReader> file;
  ARROW_RETURN_NOT_OK(builder.memory_pool(pool)->properties(reading)->Build(&file));
  auto batches = std::make_shared<ParquetBatches>(std::move(file));
  ARROW_RETURN_NOT_OK(batches->Open());
  return batches;
}

arrow::Result<Batches> open_ipc(const Source& source, arrow::MemoryPool* pool, bool is_file) {
  arrow::ipc::IpcReadOptions options = arrow::ipc::IpcReadOptions::Defaults();
  options.memory_pool = pool;
  options.use_threads = false;
  if (!is_file) {
    ARROW_ASSIGN_OR_RAISE(auto stream, arrow::ipc::RecordBatchStreamReader::Open(source, options));
    return std::make_shared<CheckedBatches>(std::move(stream));
  }
  ARROW_ASSIGN_OR_RAISE(auto file, arrow::ipc::RecordBatchFileReader::Open(source, options));
  return std::make_shared<IpcBatches>(std::move(file));
}

arrow::Status open(const char* path, arrow::MemoryPool* pool, int64_t rows, ArrowArrayStream* stream) {
  ARROW_ASSIGN_OR_RAISE(const Source source, arrow::io::ReadableFile::Open(path, pool));
  ARROW_ASSIGN_OR_RAISE(const auto begin, source->ReadAt(0, 6));
  const std::string_view magic(reinterpret_cast<const char*>(begin->data()),
                               static_cast<size_t>(begin->size()));
  Batches batches;
  if (magic.starts_with("PARE")) return arrow::Status::Invalid(kEncrypted);
  if (magic.starts_with("PAR1")) {
    ARROW_ASSIGN_OR_RAISE(batches, open_parquet(source, pool, rows));
  } else if (magic == "ARROW1" || magic.starts_with("\xff\xff\xff\xff")) {
    ARROW_ASSIGN_OR_RAISE(batches, open_ipc(source, pool, magic == "ARROW1"));
  } else {
    return arrow::Status::Invalid(
        "starts with neither PAR1 nor ARROW1, expected Parquet or Arrow IPC; a name of CSV ends in .csv or "
        ".csv.gz");
  }
  return arrow::ExportRecordBatchReader(std::move(batches), stream);
}

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

#define PLIMSOLL_EXPORT extern "C" __attribute__((visibility("default")))

PLIMSOLL_EXPORT int plimsoll_arrow_open(const char* path, const PlimsollArrowPool* pool, int64_t rows,
                                        struct ArrowArrayStream* stream, char* error, int64_t error_bytes) {
  return run_open(pool, error, error_bytes,
                  [&](arrow::MemoryPool* ledger) { return open(path, ledger, rows, stream); });
}

PLIMSOLL_EXPORT int plimsoll_arrow_open_csv(const char* const* paths, int64_t count,
                                            const PlimsollArrowPool* pool, int64_t rows,
                                            struct ArrowArrayStream* stream, char* error,
                                            int64_t error_bytes) {
  return run_open(pool, error, error_bytes, [&](arrow::MemoryPool* ledger) -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(auto batches,
                          open_csv(std::vector<std::string>(paths, paths + count), ledger, rows));
    return arrow::ExportRecordBatchReader(std::move(batches), stream);
  });
}
