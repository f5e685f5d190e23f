#pragma once

#include <memory>
#include <span>

#include "memory/charge.h"

struct libdeflate_decompressor;

namespace plimsoll {

/// Inflates zlib data that is completely in memory, at more than twice the speed of Inflater. Not
/// thread-safe. Errors: BudgetExceeded.
class WholeInflater {
 public:
  WholeInflater();
  ~WholeInflater();
  WholeInflater(const WholeInflater&) = delete;
  WholeInflater& operator=(const WholeInflater&) = delete;

  /// Fills `out`. Returns false if the data is damaged or unpacks to another size; an Inflater reports the
  /// reason. Bytes after the end of the data are ignored.
  bool run(std::span<const char> in, std::span<char> out);

 private:
  Charge charge_{Tag::ingest};
  libdeflate_decompressor* decompressor_;
};

}  // namespace plimsoll
