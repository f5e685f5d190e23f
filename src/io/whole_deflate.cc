#include "io/whole_deflate.h"

#include <libdeflate.h>

#include "base/error.h"

namespace plimsoll {
namespace {

constexpr int64_t kDecompressorBytes = 16 << 10;  // its tables
constexpr int64_t kCompressorBytes = 672 << 10;
constexpr int kLevel = 6;  // as zlib's default

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

WholeDeflater::WholeDeflater() {
  charge_.add(kCompressorBytes);
  compressor_ = libdeflate_alloc_compressor(kLevel);
  if (compressor_ == nullptr) throw BudgetExceeded(Tag::output, kCompressorBytes, 0, Ledger::process().cap());
}

WholeDeflater::~WholeDeflater() {
  libdeflate_free_compressor(compressor_);
}

size_t WholeDeflater::bound(size_t bytes) const {
  return libdeflate_zlib_compress_bound(compressor_, bytes);
}

size_t WholeDeflater::run(std::span<const char> in, std::span<char> out) {
  return libdeflate_zlib_compress(compressor_, in.data(), in.size(), out.data(), out.size());
}

}  // namespace plimsoll
