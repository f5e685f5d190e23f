#pragma once

#include <cstdint>
#include <optional>

namespace plimsoll {

/// Makes the library of torch's matrix products allocate its buffers where blas_bytes() can count them. MKL
/// allows this (its i_malloc) before its first use; for another library it does nothing. Call it once, before
/// the first operation of torch.
void watch_blas_memory();

/// Returns the anonymous bytes that the library of torch's matrix products holds in its own buffers, which
/// neither torch's allocator nor the ledger counts. There are as many buffers as threads have multiplied at
/// the same time. Only the used pages of a buffer count: on some processors MKL allocates buffers of 4 MiB
/// for products that need one page. Returns nullopt if the library does not report it, or watch_blas_memory()
/// was not called. Thread-safe.
std::optional<int64_t> blas_bytes();

/// Returns blas_bytes() or, if that is nullopt, all anonymous bytes of the process that are not in the
/// ledger. The difference between two calls is the memory added by the work between them.
int64_t bytes_outside_ledger();

}  // namespace plimsoll
