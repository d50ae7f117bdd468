# What `cmake --install` puts where: the library with its export map, the headers, and the files by which other projects
# find them.  Every path inside is relative, so that an installed folder may be moved.
include(CMakePackageConfigHelpers)

set(POLYHEAD_PACKAGE_FOLDER ${CMAKE_INSTALL_LIBDIR}/cmake/polyhead)
set(POLYHEAD_PC_FOLDER ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

target_link_options(polyhead PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/polyhead.map)
if(NOT POLYHEAD_SANITIZE) # sanitizers leave their own symbols to the program
  target_link_options(polyhead PRIVATE -Wl,--no-undefined)
endif()
set_target_properties(polyhead PROPERTIES LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/polyhead.map)

install(TARGETS polyhead polyhead_headers EXPORT polyhead LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/core/include/polyhead DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/polyheadConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/polyheadConfig.cmake
                              INSTALL_DESTINATION ${POLYHEAD_PACKAGE_FOLDER} PATH_VARS POLYHEAD_PLUGIN_FOLDER)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/polyheadConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(EXPORT polyhead NAMESPACE polyhead:: FILE polyheadTargets.cmake DESTINATION ${POLYHEAD_PACKAGE_FOLDER})
install(FILES ${PROJECT_BINARY_DIR}/polyheadConfig.cmake ${PROJECT_BINARY_DIR}/polyheadConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/cmake/PolyheadPlugin.cmake ${PROJECT_SOURCE_DIR}/cmake/plugin.map
        DESTINATION ${POLYHEAD_PACKAGE_FOLDER})

file(RELATIVE_PATH polyhead_prefix_from_pc ${CMAKE_INSTALL_PREFIX}/${POLYHEAD_PC_FOLDER} ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" polyhead_prefix_from_pc ${polyhead_prefix_from_pc})
configure_file(${PROJECT_SOURCE_DIR}/cmake/polyhead.pc.in ${PROJECT_BINARY_DIR}/polyhead.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/polyhead.pc DESTINATION ${POLYHEAD_PC_FOLDER})

install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/configs DESTINATION ${CMAKE_INSTALL_DATADIR}/polyhead
        FILES_MATCHING PATTERN "*.yaml" PATTERN suites EXCLUDE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/configs/suites DESTINATION ${CMAKE_INSTALL_DATADIR}/polyhead
        FILES_MATCHING PATTERN "*.yaml") # conform/sources.c seeks them here
