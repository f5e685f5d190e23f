#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "base/hash.h"

namespace plimsoll {

/// What a stream does where compressed data end before they are complete.
enum class AtCut : uint8_t {
  fail,  ///< InputError
  stop   ///< The text ends there, and is_cut_off() is true.
};

/// Bytes of a text file without a UTF-8 byte order mark, decompressed on the way if its name ends in .zst or
/// .gz. Decompression memory is entered
/// in the ledger under Tag::ingest. Not thread-safe.
class InputStream {
 public:
  virtual ~InputStream() = default;

  /// Reads up to `bytes` decompressed bytes; less only at the end, 0 after it.
  /// Errors: InputError (file and reason) for damaged compressed data and, with AtCut::fail, for cut-off
  /// ones; BudgetExceeded for a compression window that does not fit.
  virtual size_t read(char* data, size_t bytes) = 0;

  /// Bytes of the file itself read so far, for progress.
  virtual int64_t bytes_read() const = 0;
  /// XXH3-64 of the file's own bytes read so far: of the whole file once read() gave 0.
  virtual std::string source_hash() const = 0;

  /// Whether the compressed data ended too soon; known once read() gave less than it was asked for.
  virtual bool is_cut_off() const { return false; }

  static std::unique_ptr<InputStream> open(const std::filesystem::path& path, AtCut at_cut = AtCut::fail);
};

}  // namespace plimsoll
