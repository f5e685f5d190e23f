#include "arrow_plugin/file_batches.h"

#include <arrow/io/buffered.h>
#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>
#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace {

constexpr int64_t kStreamBuffer = 64 << 10;  // Bytes read ahead of each column of a file on disk.
constexpr int64_t kMaxRequest = 1 << 20;     // Bytes of one request to an object store.
constexpr const char* kEncrypted =
    "is encrypted Parquet, whose keys plimsoll does not take; write it without encryption";

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

arrow::Result<Batches> open_parquet(const Source& source, arrow::MemoryPool* pool, int64_t rows,
                                    int64_t read_ahead) {
  parquet::ReaderProperties properties(pool);
  properties.enable_buffered_stream();
  const auto metadata = parquet::ParquetFileReader::Open(source, properties)->metadata();
  properties.set_buffer_size(
      std::max(kStreamBuffer, std::min(kMaxRequest, read_ahead / std::max(metadata->num_columns(), 1))));
  parquet::ArrowReaderProperties reading(/*use_threads=*/false);
  reading.set_pre_buffer(false);
  reading.set_batch_size(rows);
  parquet::arrow::FileReaderBuilder builder;
  ARROW_RETURN_NOT_OK(builder.Open(source, properties, metadata));
  if (metadata->is_encryption_algorithm_set()) return arrow::Status::Invalid(kEncrypted);
  std::unique_ptr<parquet::arrow::FileReader> file;
  ARROW_RETURN_NOT_OK(builder.memory_pool(pool)->properties(reading)->Build(&file));
  auto batches = std::make_shared<ParquetBatches>(std::move(file));
  ARROW_RETURN_NOT_OK(batches->Open());
  return batches;
}

arrow::Result<Batches> open_ipc_stream(const Source& source, const arrow::ipc::IpcReadOptions& options,
                                       int64_t read_ahead) {
  ARROW_RETURN_NOT_OK(source->Seek(0));  // A file on disk has no position after ReadAt().
  std::shared_ptr<arrow::io::InputStream> bytes = source;
  if (read_ahead > 0) {
    ARROW_ASSIGN_OR_RAISE(bytes, buffered(source, options.memory_pool, read_ahead));
  }
  ARROW_ASSIGN_OR_RAISE(auto stream, arrow::ipc::RecordBatchStreamReader::Open(bytes, options));
  return std::make_shared<CheckedBatches>(std::move(stream));
}

arrow::Result<Batches> open_ipc(const Source& source, arrow::MemoryPool* pool, bool is_file,
                                int64_t read_ahead) {
  arrow::ipc::IpcReadOptions options = arrow::ipc::IpcReadOptions::Defaults();
  options.memory_pool = pool;
  options.use_threads = false;
  if (!is_file) return open_ipc_stream(source, options, read_ahead);
  ARROW_ASSIGN_OR_RAISE(auto file, arrow::ipc::RecordBatchFileReader::Open(source, options));
  return std::make_shared<IpcBatches>(std::move(file));
}

}  // namespace

arrow::Result<std::shared_ptr<arrow::io::InputStream>> buffered(std::shared_ptr<arrow::io::InputStream> from,
                                                                arrow::MemoryPool* pool, int64_t read_ahead) {
  return arrow::io::BufferedInputStream::Create(std::clamp(read_ahead, kStreamBuffer, kMaxRequest), pool,
                                                std::move(from));
}

arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> open_batches(
    const std::shared_ptr<arrow::io::RandomAccessFile>& source, arrow::MemoryPool* pool, int64_t rows,
    int64_t read_ahead) {
  ARROW_ASSIGN_OR_RAISE(const auto begin, source->ReadAt(0, 6));
  const std::string_view magic(reinterpret_cast<const char*>(begin->data()),
                               static_cast<size_t>(begin->size()));
  if (magic.starts_with("PARE")) return arrow::Status::Invalid(kEncrypted);
  if (magic.starts_with("PAR1")) return open_parquet(source, pool, rows, read_ahead);
  if (magic == "ARROW1" || magic.starts_with("\xff\xff\xff\xff"))
    return open_ipc(source, pool, magic == "ARROW1", read_ahead);
  return arrow::Status::Invalid(
      "starts with neither PAR1 nor ARROW1, expected Parquet or Arrow IPC; a name of CSV ends in .csv or "
      ".csv.gz");
}
