# Kernel files that are compiled once a level (src/kernels/level.h). They add and multiply in one instruction where the
# processor can: the same everywhere within a level.
# Vectors wider than the processor's never leave a function here, so that their ABI does not matter.
set(level_portable -ffp-contract=fast -Wno-psabi)
set(level_avx2 -ffp-contract=fast -Wno-psabi -mavx2 -mfma)
# g++ 12 takes its own AVX-512 intrinsics for uninitialised.
set(level_avx512 -ffp-contract=fast -Wno-maybe-uninitialized -mavx512f -mavx512dq -mavx512bw -mavx512vl -mfma -mprefer-vector-width=512)
# The loops of attention are written in vectors: -O3 unrolls them to twice the code and compile time, and no speed
# (bench/results/build.md).
set(kernels_of_attention gat gatv2)
foreach(level portable avx2 avx512)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/kernels/*_${level}.cc)
  set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS "${level_${level}}" SKIP_PRECOMPILE_HEADERS ON)
  list(TRANSFORM kernels_of_attention REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/src/kernels/\\1_${level}.cc" OUTPUT_VARIABLE attention)
  set_property(SOURCE ${attention} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O2>)
endforeach()
