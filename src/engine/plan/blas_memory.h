#pragma once

#include <cstdint>
#include <optional>

namespace plimsoll {

/// Has the library of torch's matrix products take its rooms where blas_bytes() can look into them. MKL
/// lets a program do so (its i_malloc), before it is first used; for another library nothing happens. Call it
/// once, before the first operation of torch.
void watch_blas_memory();

/// Anonymous bytes that the library of torch's matrix products holds in rooms of its own, which neither
/// torch's allocator nor the ledger sees: as many rooms as threads have multiplied at once. A room counts as
/// far as it was used: on some processors MKL takes rooms of 4 MiB for products that need a page of them.
/// None where the library does not say, or is not watched. Thread-safe.
std::optional<int64_t> blas_bytes();

/// blas_bytes(), or where there are none all anonymous bytes of the process that do not stand in the ledger:
/// for measuring by how much a piece of work raises them.
int64_t bytes_beside_ledger();

}  // namespace plimsoll
