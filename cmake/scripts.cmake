# The scripts of a report as a source of room telemetry: what a page needs is in the program, and it needs no network.

function(plimsoll_read name file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${file})
  file(READ ${PROJECT_SOURCE_DIR}/${file} text)
  string(REGEX REPLACE "\n//# sourceMappingURL=[^\n]*|\n/\\*# sourceMappingURL=[^\n]*" "" text "${text}")
  set(${name} "${text}" PARENT_SCOPE)
endfunction()

plimsoll_read(DYGRAPHS third_party/dygraphs/dygraph.min.js)
plimsoll_read(DYGRAPHS_STYLE third_party/dygraphs/dygraph.min.css)
plimsoll_read(AREAS src/telemetry/areas.js)
configure_file(${PROJECT_SOURCE_DIR}/src/telemetry/scripts.cc.in ${PROJECT_BINARY_DIR}/scripts.cc @ONLY)
target_sources(plimsoll_telemetry PRIVATE ${PROJECT_BINARY_DIR}/scripts.cc)
