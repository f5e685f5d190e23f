#pragma once

#include <arrow/record_batch.h>
#include <arrow/result.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

/// Opens CSV files with the same columns as one table. The files are read twice: once to find the type of
/// each column from all values, and once for the values. An empty field is a missing value. `store` is as in
/// object_store.h.
arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> open_csv(const std::string& store,
                                                                  const std::vector<std::string>& paths,
                                                                  arrow::MemoryPool* pool, int64_t rows);
