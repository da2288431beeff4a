# The target `uninstall`: takes away what the last installation wrote, then the directories that were made for it, where they
# are empty. DESTDIR counts as it did for the installation. CMake's own install_manifest.txt will not do: cpack, which
# installs into a directory of its own, leaves its list there.

if(CMAKE_SCRIPT_MODE_FILE) # the target itself, in the build directory
  if(NOT EXISTS installed/files.txt)
    message(FATAL_ERROR "uninstall: nothing was installed from ${CMAKE_BINARY_DIR}")
  endif()
  file(STRINGS installed/files.txt files)
  foreach(file IN LISTS files)
    message(STATUS "Removing: $ENV{DESTDIR}${file}")
    file(REMOVE "$ENV{DESTDIR}${file}")
  endforeach()
  set(directories "")
  if(EXISTS installed/directories.txt)
    file(STRINGS installed/directories.txt directories)
  endif()
  list(REMOVE_DUPLICATES directories)
  list(SORT directories ORDER DESCENDING) # what is inside another one comes first
  foreach(directory IN LISTS directories)
    execute_process(COMMAND rmdir "$ENV{DESTDIR}${directory}" ERROR_QUIET) # leaves what is not empty
  endforeach()
  file(REMOVE_RECURSE installed)
  return()
endif()

set(is_package "\"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\" MATCHES \"/_CPack_Packages/\"")

# Notes which of the directories must be made for an installation; comes before what is installed.
function(note_directories)
  list(JOIN ARGN "\" \"" directories)
  install(CODE "
    foreach(directory \"${directories}\")
      set(directory \"\${CMAKE_INSTALL_PREFIX}/\${directory}\")
      while(NOT ${is_package} AND NOT EXISTS \"\$ENV{DESTDIR}\${directory}\" AND NOT directory STREQUAL \"/\")
        file(APPEND \"${CMAKE_BINARY_DIR}/installed/directories.txt\" \"\${directory}\\n\")
        cmake_path(GET directory PARENT_PATH directory)
      endwhile()
    endforeach()")
endfunction()

# Notes which files were installed; comes last.
function(note_files)
  install(CODE "
    if(NOT ${is_package})
      list(JOIN CMAKE_INSTALL_MANIFEST_FILES \"\\n\" files)
      file(WRITE \"${CMAKE_BINARY_DIR}/installed/files.txt\" \"\${files}\\n\")
    endif()")
endfunction()

add_custom_target(uninstall
  COMMAND "${CMAKE_COMMAND}" -P "${CMAKE_CURRENT_LIST_FILE}"
  WORKING_DIRECTORY "${CMAKE_BINARY_DIR}" VERBATIM)
