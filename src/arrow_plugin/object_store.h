#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>
#include <arrow/result.h>

#include <memory>
#include <string>
#include <vector>

#include "io/arrow_plugin.h"

// Objects in S3 and stores with its interface, through Arrow's client, which is loaded on first use. `store`
// is a URI as Arrow takes it, such as "s3://bucket?region=eu-west-1", and a path is "bucket/key". A failed
// request is repeated up to AWS_MAX_ATTEMPTS times, unless the user interrupts. Not thread-safe.

/// Returns the name of a file or object for messages.
inline std::string name_of(const std::string& store, const std::string& path) {
  return store.empty() ? path : "s3://" + path;
}

/// Opens a file on disk, of which `store` is empty, or an object.
arrow::Result<std::shared_ptr<arrow::io::RandomAccessFile>> open_source(const std::string& store,
                                                                        const std::string& path,
                                                                        arrow::MemoryPool* pool);

/// Returns how many bytes a table of this store may read ahead: 0 on disk.
int64_t read_ahead_of(const std::string& store, arrow::MemoryPool* pool);

/// Returns the size and version of an object; a size of -1 if there is none.
arrow::Result<PlimsollObject> find_object(const std::string& store, const std::string& path,
                                          arrow::MemoryPool* pool);

/// Returns the paths of all objects below a folder, "bucket" or "bucket/folder", in no order.
arrow::Result<std::vector<std::string>> list_objects(const std::string& store, const std::string& folder,
                                                     arrow::MemoryPool* pool);
