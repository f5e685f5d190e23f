#pragma once

#include "kernels/level.h"

// Tables of kernels that are compiled once for each level. NAME_cpu.h has their loops and defines a table of
// them in namespace PLIMSOLL_LEVEL, with vectors of PLIMSOLL_VECTOR_BYTES. cmake/levels.cmake compiles
// NAME_cpu.h three times.

/// Declares the tables of one kernel, `name`. The remaining arguments are its type.
#define PLIMSOLL_DECLARE_LEVELS(name, ...) \
  namespace portable {                     \
  extern const __VA_ARGS__ name;           \
  }                                        \
  namespace avx2 {                         \
  extern const __VA_ARGS__ name;           \
  }                                        \
  namespace avx512 {                       \
  extern const __VA_ARGS__ name;           \
  }

/// Selects the table of a level.
#define PLIMSOLL_AT_LEVEL(level, name) \
  ((level) == Level::avx512 ? avx512::name : (level) == Level::avx2 ? avx2::name : portable::name)
