#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <arrow/result.h>

#include <cstdint>
#include <memory>

/// Opens the rows of a Parquet or Arrow IPC file, recognised by its first bytes, in batches of at most `rows`
/// rows. All columns together may read `read_ahead` bytes ahead, at most 1 MiB each, so that few requests go
/// to an object store; a file on disk has 0, which is 64 KiB for each column.
arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> open_batches(
    const std::shared_ptr<arrow::io::RandomAccessFile>& source, arrow::MemoryPool* pool, int64_t rows,
    int64_t read_ahead);

/// Returns a stream that reads up to `read_ahead` bytes of another at a time: 64 KiB to 1 MiB.
arrow::Result<std::shared_ptr<arrow::io::InputStream>> buffered(std::shared_ptr<arrow::io::InputStream> from,
                                                                arrow::MemoryPool* pool, int64_t read_ahead);
