# polyhead_plugin(NAME SOURCE... [LIBRARIES LIBRARY...]): a loadable backend NAME.so with one exported symbol.
# Installed too, so that a backend that lives elsewhere is built the same way: find_package(polyhead), then this.
set(POLYHEAD_PLUGIN_MAP ${CMAKE_CURRENT_LIST_DIR}/plugin.map)

function(polyhead_plugin name)
  cmake_parse_arguments(PLUGIN "" "" "LIBRARIES" ${ARGN})
  add_library(plugin_${name} MODULE ${PLUGIN_UNPARSED_ARGUMENTS})
  target_link_libraries(plugin_${name} PRIVATE polyhead::headers ${PLUGIN_LIBRARIES})
  target_link_options(plugin_${name} PRIVATE -Wl,--version-script=${POLYHEAD_PLUGIN_MAP})
  # The empty generator expression keeps multi-configuration generators from adding a folder of their own.
  set_target_properties(plugin_${name} PROPERTIES PREFIX "" OUTPUT_NAME ${name} C_VISIBILITY_PRESET hidden
                        LINK_DEPENDS ${POLYHEAD_PLUGIN_MAP}
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/plugins/$<0:>)
  # The library loads nothing that others may write to; under a umask of 002 a linker makes just that.
  add_custom_command(TARGET plugin_${name} POST_BUILD
                     COMMAND chmod go-w $<TARGET_FILE:plugin_${name}> $<TARGET_FILE_DIR:plugin_${name}>)
endfunction()
