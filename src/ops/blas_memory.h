#pragma once

#include <cstdint>
#include <optional>

namespace plimsoll {

/// Bytes that the library behind torch's matrix products holds in rooms of its own, which neither torch's
/// allocator nor the ledger sees: as many rooms as threads have multiplied at once, as large as products have
/// asked for. None where the library does not say; MKL does (mkl_mem_stat).
std::optional<int64_t> blas_bytes();

}  // namespace plimsoll
