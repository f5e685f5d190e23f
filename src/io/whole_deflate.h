#pragma once

#include <memory>
#include <span>

#include "memory/charge.h"

struct libdeflate_compressor;
struct libdeflate_decompressor;

namespace plimsoll {

/// Inflates zlib data that is there whole, at more than twice the speed of Inflater. Not thread-safe. Errors:
/// BudgetExceeded.
class WholeInflater {
 public:
  WholeInflater();
  ~WholeInflater();
  WholeInflater(const WholeInflater&) = delete;
  WholeInflater& operator=(const WholeInflater&) = delete;

  /// Fills `out`. False where the data is damaged or unpacks to another size: an Inflater tells why. What
  /// lies after the end of the data is left out.
  bool run(std::span<const char> in, std::span<char> out);

 private:
  Charge charge_{Tag::ingest};
  libdeflate_decompressor* decompressor_;
};

/// Packs data that is there whole as zlib does, at level 6. The bytes depend on the version of libdeflate.
/// Not thread-safe. Errors: BudgetExceeded.
class WholeDeflater {
 public:
  WholeDeflater();
  ~WholeDeflater();
  WholeDeflater(const WholeDeflater&) = delete;
  WholeDeflater& operator=(const WholeDeflater&) = delete;

  /// The most bytes that `bytes` of data can take.
  size_t bound(size_t bytes) const;
  /// Bytes written to `out`, which has bound(in.size()) of them.
  size_t run(std::span<const char> in, std::span<char> out);

 private:
  Charge charge_{Tag::output};
  libdeflate_compressor* compressor_;
};

}  // namespace plimsoll
