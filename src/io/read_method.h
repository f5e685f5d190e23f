#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "io/extent_reader.h"

namespace plimsoll {

/// Method of reading scattered parts of a file.
enum class ReadMethod {
  ring_direct,  ///< io_uring without the page cache: a deep queue from one thread.
  pool_direct,  ///< pread without the page cache: one request at a time per thread.
  ring,         ///< io_uring through the page cache, where O_DIRECT is not allowed.
  pool,         ///< pread through the page cache: always available.
};
const char* method_name(ReadMethod method);
/// Returns the method with this name. Errors: UsageError that lists the names.
ReadMethod method_from_name(const std::string& name);

/// A file opened for one method, and its reader.
struct OpenedMethod {
  std::unique_ptr<AlignedFile> file;  ///< Held by pointer, because the reader keeps a reference to it.
  std::unique_ptr<ExtentReader> reader;
  int64_t buffer_bytes = 0;  ///< Bytes entered in the ledger.
};

/// Opens a file for reads of at most `longest` bytes that start at any offset. Reads are extended to whole
/// sectors; reads of kLongExtent or more are extended to whole pages. There are as many buffers as fit into
/// `buffer_bytes`, at least one and at most 256 for a ring or 16 for threads. Returns nullopt if the kernel
/// or file system refuses this method. Errors: InputError (no such file), Failure, BudgetExceeded
/// (Tag::cache), ThreadRefused.
std::optional<OpenedMethod> open_method(const std::filesystem::path& path, ReadMethod method, int64_t longest,
                                        int64_t buffer_bytes);

/// Returns the method for a file: PLIMSOLL_READ if that is set, otherwise the fastest available method,
/// measured by a few milliseconds of random reads, once per device and process. Direct methods are preferred
/// to buffered ones. For a file below 1 MiB, nothing is measured, and the first available method is returned.
/// Thread-safe. Errors: UsageError (PLIMSOLL_READ), and those of open_method().
ReadMethod choose_method(const std::filesystem::path& path);

}  // namespace plimsoll
