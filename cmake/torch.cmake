# plimsoll_torch: the CPU library and headers of the torch wheel of PLIMSOLL_PYTHON.
#
# find_package(Torch) of a CUDA wheel asks for a CUDA toolkit; only libtorch_cpu and libc10 are needed here, which every
# wheel has. Code stays valid for torch 2.11 up to the pinned version.

# pip builds in an environment of its own, by these variables; torch is sought where the package will run.
execute_process(
  COMMAND ${CMAKE_COMMAND} -E env --unset=PYTHONPATH --unset=PYTHONNOUSERSITE
          ${PLIMSOLL_PYTHON} -c "import importlib.util as u, os; print(os.path.dirname(u.find_spec('torch').origin))"
  OUTPUT_VARIABLE torch_dir OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
if(failed AND PLIMSOLL_TORCH STREQUAL "AUTO")
  message(STATUS "No torch for ${PLIMSOLL_PYTHON}: what needs it is left out")
  set(PLIMSOLL_TORCH OFF)
  return()
endif()
set(PLIMSOLL_TORCH ON)
if(failed)
  message(FATAL_ERROR "No torch for ${PLIMSOLL_PYTHON}. Run scripts/bootstrap, or configure with "
                      "-DPLIMSOLL_PYTHON=/path/to/python that has torch, or with -DPLIMSOLL_TORCH=OFF.")
endif()
file(STRINGS ${torch_dir}/version.py torch_version REGEX "^__version__")
string(REGEX MATCH "[0-9]+\\.[0-9]+" torch_version "${torch_version}")
set(oldest_torch 2.11)
if("${CMAKE_CUDA_ARCHITECTURES}" MATCHES "(^|;)70")
  set(oldest_torch 2.10)  # The last with kernels for Volta (docs/install.md).
endif()
if(torch_version VERSION_LESS oldest_torch)
  message(FATAL_ERROR "torch ${torch_version} in ${torch_dir} is too old: ${oldest_torch} or newer is needed.")
endif()
message(STATUS "torch ${torch_version}: ${torch_dir}")

add_library(plimsoll_torch INTERFACE)
target_include_directories(plimsoll_torch SYSTEM INTERFACE ${torch_dir}/include
                                                           ${torch_dir}/include/torch/csrc/api/include)
# The wheel brings its own fmt headers but no fmt symbols.
target_compile_definitions(plimsoll_torch INTERFACE FMT_HEADER_ONLY _GLIBCXX_USE_CXX11_ABI=1)
target_link_libraries(plimsoll_torch INTERFACE ${torch_dir}/lib/libtorch_cpu.so ${torch_dir}/lib/libc10.so)
# at::parallel_for is a template that runs serially unless it is compiled with OpenMP. The threads are torch's own: a
# second OpenMP library would not know of at::set_num_threads.
file(GLOB torch_openmp ${torch_dir}/lib/libgomp*.so* ${torch_dir}/lib/libiomp5.so)
if(NOT torch_openmp)
  find_package(OpenMP REQUIRED)
  set(torch_openmp OpenMP::OpenMP_CXX)
endif()
target_compile_options(plimsoll_torch INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fopenmp>)
target_link_libraries(plimsoll_torch INTERFACE ${torch_openmp})
target_link_options(plimsoll_torch INTERFACE -Wl,--allow-shlib-undefined)
