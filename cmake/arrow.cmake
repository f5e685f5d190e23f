# lib/libplimsoll_arrow.so: the plugin that opens Parquet and Arrow IPC, with the headers and libraries of the pyarrow wheel
# of PLIMSOLL_PYTHON. The wheel has no CMake configuration, and its sonames have the major version, which is pinned here.

set(PLIMSOLL_ARROW_MAJOR 26)

execute_process(
  COMMAND ${CMAKE_COMMAND} -E env --unset=PYTHONPATH --unset=PYTHONNOUSERSITE
          ${PLIMSOLL_PYTHON} -c "import importlib.util as u, os; print(os.path.dirname(u.find_spec('pyarrow').origin))"
  OUTPUT_VARIABLE arrow_dir OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
set(arrow_library ${arrow_dir}/libarrow.so.${PLIMSOLL_ARROW_MAJOR}00)
set(parquet_library ${arrow_dir}/libparquet.so.${PLIMSOLL_ARROW_MAJOR}00)
if(failed OR NOT EXISTS ${arrow_library} OR NOT EXISTS ${parquet_library})
  message(STATUS "No pyarrow ${PLIMSOLL_ARROW_MAJOR} for ${PLIMSOLL_PYTHON}: files of tables are left out")
  return()
endif()
message(STATUS "pyarrow ${PLIMSOLL_ARROW_MAJOR}: ${arrow_dir}")

add_library(plimsoll_arrow SHARED src/arrow_plugin/arrow_plugin.cc src/arrow_plugin/csv_batches.cc src/arrow_plugin/csv_rows.cc
            src/arrow_plugin/csv_types.cc src/arrow_plugin/file_batches.cc src/arrow_plugin/object_store.cc)
target_include_directories(plimsoll_arrow PRIVATE src)
target_include_directories(plimsoll_arrow SYSTEM PRIVATE ${arrow_dir}/include)
target_link_libraries(plimsoll_arrow PRIVATE ${arrow_library} ${parquet_library} plimsoll_warnings)
target_link_options(plimsoll_arrow PRIVATE -Wl,--allow-shlib-undefined)
target_compile_options(plimsoll_arrow PRIVATE $<$<CONFIG:Release>:-O1> -fvisibility=hidden)
set_target_properties(plimsoll_arrow PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib
                      BUILD_RPATH ${arrow_dir})
