#pragma once

#include <atomic>
#include <cstdint>

/// Number of calls of operator new in this program (memory/packing_test.cc replaces it), and the call that
/// fails; 0 for none.
extern std::atomic<int64_t> allocations;
extern std::atomic<int64_t> refused_allocation;
