#include "io/whole_deflate.h"

#include <libdeflate.h>

#include "base/error.h"

namespace plimsoll {
namespace {

constexpr int64_t kDecompressorBytes = 16 << 10;  // Size of its tables.

}  // namespace

WholeInflater::WholeInflater() {
  charge_.add(kDecompressorBytes);
  decompressor_ = libdeflate_alloc_decompressor();
  if (decompressor_ == nullptr)
    throw BudgetExceeded(Tag::ingest, kDecompressorBytes, 0, Ledger::process().cap());
}

WholeInflater::~WholeInflater() {
  libdeflate_free_decompressor(decompressor_);
}

bool WholeInflater::run(std::span<const char> in, std::span<char> out) {
  size_t taken = 0;
  return libdeflate_zlib_decompress_ex(decompressor_, in.data(), in.size(), out.data(), out.size(), &taken,
                                       nullptr) == LIBDEFLATE_SUCCESS;
}

}  // namespace plimsoll
