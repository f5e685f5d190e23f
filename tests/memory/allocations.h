#pragma once

#include <atomic>
#include <cstdint>

/// How often this program has called operator new (memory/packing_test.cc replaces it), and the call that
/// finds no memory; 0: none.
extern std::atomic<int64_t> allocations;
extern std::atomic<int64_t> refused_allocation;
