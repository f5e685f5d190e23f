# libzip is loaded where an archive is read, not linked: with libcrypto, which it brings, it costs every process 0.4 MiB
# of its budget. Its file is that of the headers, by its SONAME.
list(GET zip_LINK_LIBRARIES 0 zip_library)
execute_process(COMMAND ${CMAKE_READELF} -d ${zip_library} OUTPUT_VARIABLE zip_dynamic COMMAND_ERROR_IS_FATAL ANY)
if(NOT zip_dynamic MATCHES "SONAME[^[]*.([^]]+)]")
  message(FATAL_ERROR "${zip_library} has no SONAME: a shared libzip is needed")
endif()
set_source_files_properties(src/io/zip_archive.cc PROPERTIES
  COMPILE_DEFINITIONS "PLIMSOLL_LIBZIP=\"${CMAKE_MATCH_1}\""
  COMPILE_OPTIONS "${zip_CFLAGS}")
