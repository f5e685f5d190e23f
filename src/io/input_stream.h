#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "base/hash.h"

namespace plimsoll {

/// Behaviour of a stream whose compressed data ends too early.
enum class AtCut : uint8_t {
  fail,  ///< Throw InputError.
  stop   ///< End the text; is_cut_off() then returns true.
};

/// Reads a text file without its UTF-8 byte order mark, decompressed if it is zstd or gzip (compression.h).
/// Memory for decompression is entered in the ledger under Tag::ingest. Not thread-safe.
class InputStream {
 public:
  virtual ~InputStream() = default;

  /// Reads up to `bytes` decompressed bytes. Returns less only at the end, and 0 after it. Errors: InputError
  /// (file and reason) for damaged compressed data and, with AtCut::fail, for incomplete data; BudgetExceeded
  /// for a compression window that does not fit.
  virtual size_t read(char* data, size_t bytes) = 0;

  /// Bytes of the file itself read so far, for progress.
  virtual int64_t bytes_read() const = 0;
  /// XXH3-64 of the file's own bytes read so far. It covers the whole file once read() has returned 0.
  virtual std::string source_hash() const = 0;

  /// Whether the compressed data ended too soon. Known once read() has returned less than requested.
  virtual bool is_cut_off() const { return false; }

  /// Opens a file. Errors: InputError (no such file; a compression that is not supported), Failure,
  /// BudgetExceeded.
  static std::unique_ptr<InputStream> open(const std::filesystem::path& path, AtCut at_cut = AtCut::fail);
};

}  // namespace plimsoll
