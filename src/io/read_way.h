#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "io/extent_reader.h"

namespace plimsoll {

/// How scattered pieces of a file are read.
enum class ReadWay {
  ring_direct,  ///< io_uring past the page cache: a deep queue from one thread
  pool_direct,  ///< pread past the page cache: a queue as deep as there are threads
  ring,         ///< io_uring through the page cache, where O_DIRECT is not allowed
  pool,         ///< pread through the page cache: always there
};
const char* way_name(ReadWay way);
/// Errors: UsageError that lists the names.
ReadWay way_from_name(const std::string& name);

/// A file opened one way, and what reads it.
struct OpenedWay {
  std::unique_ptr<AlignedFile> file;  ///< behind a pointer, as the reader refers to it
  std::unique_ptr<ExtentReader> reader;
  int64_t buffer_bytes = 0;  ///< of the ledger
};

/// Opens a file for reads of at most `longest` bytes after a start of any alignment, which sectors around
/// them make longer, and pages where that is a long extent; with `buffer_bytes` of buffers, or one where a
/// read takes more. None if kernel or file system refuse this way.
/// Errors: InputError (no such file), BudgetExceeded (Tag::cache).
std::optional<OpenedWay> open_way(const std::filesystem::path& path, ReadWay way, int64_t longest,
                                  int64_t buffer_bytes);

/// The way to read a file: PLIMSOLL_READ where that is set, else the quicker one of what is allowed, direct
/// before buffered, by some milliseconds of random reads, once a device and process. Thread-safe.
/// Errors: UsageError (PLIMSOLL_READ), and those of open_way().
ReadWay choose_way(const std::filesystem::path& path);

}  // namespace plimsoll
