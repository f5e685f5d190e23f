#pragma once

#include <atomic>
#include <cstdint>

/// Number of calls of operator new in this program (memory/packing_test.cc replaces it).
extern std::atomic<int64_t> allocations;
