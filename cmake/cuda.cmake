# Adds the CUDA kernels to plimsoll_kernels, and CUDA's device to plimsoll_device. nvcc is needed, a GPU is not; torch has no part in it.

# Turing and up: native code for Ampere and Hopper, PTX for what lies between and after. CMake would pick an
# architecture of its own, so this precedes enable_language.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
  set(CMAKE_CUDA_ARCHITECTURES 75-virtual 80-real 90)
endif()
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
# nvcc has C++20 since 12.0, which CMake 3.25 does not know.
if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
endif()

file(GLOB cuda_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/kernels/*.cu
     ${PROJECT_SOURCE_DIR}/src/kernels/*/*.cu)
target_sources(plimsoll_kernels PRIVATE ${cuda_sources})
set_target_properties(plimsoll_kernels PROPERTIES
  CUDA_ARCHITECTURES "${CMAKE_CUDA_ARCHITECTURES}"
  CUDA_STANDARD 20
  CUDA_STANDARD_REQUIRED ON
  CUDA_EXTENSIONS OFF)
target_compile_definitions(plimsoll_kernels PRIVATE PLIMSOLL_CUDA)
# The host code that nvcc generates is not pedantic; std::array and Philox are constexpr, not __device__. Only a source's own options come after plimsoll_warnings.
set_source_files_properties(${cuda_sources} PROPERTIES COMPILE_OPTIONS "-Wno-pedantic;--expt-relaxed-constexpr")
# Angles of points on a line are exact (path_message_steps.h).
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/kernels/path_message/path_message.cu PROPERTIES COMPILE_OPTIONS "-Wno-pedantic;--expt-relaxed-constexpr;--fmad=false")
target_link_libraries(plimsoll_kernels PUBLIC CUDA::cudart_static)

# The device calls the runtime library alone, which the C++ compiler knows.
target_compile_definitions(plimsoll_device PRIVATE PLIMSOLL_CUDA)
target_link_libraries(plimsoll_device PUBLIC CUDA::cudart_static)
