# Libraries that are loaded where they are used, not linked: libzip, with libcrypto, which it brings, costs every process
# 0.4 MiB of its budget, and METIS is for graphs that fit into memory.

# Tells SOURCE, as the macro NAME, the file that a program would load for LIBRARY by its headers: its SONAME.
function(plimsoll_loads source name library)
  execute_process(COMMAND ${CMAKE_READELF} -d ${library} OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
  if(NOT dynamic MATCHES "SONAME[^[]*.([^]]+)]")
    message(FATAL_ERROR "${library} has no SONAME: a shared library is needed")
  endif()
  set_source_files_properties(${source} PROPERTIES COMPILE_DEFINITIONS "${name}=\"${CMAKE_MATCH_1}\"")
endfunction()

list(GET zip_LINK_LIBRARIES 0 zip_library)
plimsoll_loads(src/io/zip_archive.cc PLIMSOLL_LIBZIP ${zip_library})
set_source_files_properties(src/io/zip_archive.cc PROPERTIES COMPILE_OPTIONS "${zip_CFLAGS}")

find_library(METIS_LIBRARY metis REQUIRED)
find_path(METIS_INCLUDE_DIR metis.h REQUIRED)
plimsoll_loads(src/sample/partition/metis_process.cc PLIMSOLL_LIBMETIS ${METIS_LIBRARY})
add_library(plimsoll_metis INTERFACE)
target_include_directories(plimsoll_metis SYSTEM INTERFACE ${METIS_INCLUDE_DIR})
target_link_libraries(plimsoll_metis INTERFACE ${CMAKE_DL_LIBS})
