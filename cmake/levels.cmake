# Kernels that are compiled once a level (src/kernels/levels.h): NAME/NAME_cpu.h. They add and multiply in one instruction where the
# processor can: the same everywhere within a level.
# Vectors wider than the processor's never leave a function here, so that their ABI does not matter.
set(level_portable -ffp-contract=fast -Wno-psabi)
set(level_avx2 -ffp-contract=fast -Wno-psabi -mavx2 -mfma)
# g++ 12 takes its own AVX-512 intrinsics for uninitialised.
set(level_avx512 -ffp-contract=fast -Wno-psabi -Wno-maybe-uninitialized -mavx512f -mavx512dq -mavx512bw -mavx512vl -mfma -mprefer-vector-width=512)
set(vector_bytes_portable 16)
set(vector_bytes_avx2 32)
set(vector_bytes_avx512 64)
file(GLOB kernels CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/kernels/*/*_cpu.h)
list(TRANSFORM kernels REPLACE "^.*/(.*)_cpu.h$" "\\1")
list(REMOVE_ITEM kernels attention)  # What gat and gatv2 share.
foreach(kernel IN LISTS kernels)
  foreach(level portable avx2 avx512)
    set(source ${PROJECT_BINARY_DIR}/kernels/${kernel}_${level}.cc)
    file(CONFIGURE OUTPUT ${source} CONTENT "#include \"kernels/${kernel}/${kernel}_cpu.h\"\n")
    target_sources(plimsoll_kernels PRIVATE ${source})
    set(options ${level_${level}} -DPLIMSOLL_LEVEL=${level} -DPLIMSOLL_VECTOR_BYTES=${vector_bytes_${level}})
    # The loops of attention are written in vectors: -O3 unrolls them to twice the code and compile time, and no speed
    # (bench/results/build.md).
    if(kernel MATCHES "^gat")
      list(APPEND options $<$<CONFIG:Release>:-O2>)
    endif()
    set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${options}" SKIP_PRECOMPILE_HEADERS ON)
  endforeach()
endforeach()
