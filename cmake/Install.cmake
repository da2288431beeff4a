# What goes where below the prefix, and the links to the library.

foreach(directory BINDIR LIBDIR DATADIR MANDIR DOCDIR)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${directory}}")
    message(FATAL_ERROR "CMAKE_INSTALL_${directory}: ${CMAKE_INSTALL_${directory}} is absolute; name a place below CMAKE_INSTALL_PREFIX")
  endif()
endforeach()
set(module_directory "${CMAKE_INSTALL_DATADIR}/modulefiles/scorep-nccl")
set(completions bash-completion/completions zsh/site-functions fish/vendor_completions.d)

set(directories "${CMAKE_INSTALL_LIBDIR}" "${module_directory}" "${CMAKE_INSTALL_DOCDIR}/docs/pictures"
  "${CMAKE_INSTALL_DOCDIR}/examples/grafana"
  "${CMAKE_INSTALL_DOCDIR}/examples/kubernetes" "${CMAKE_INSTALL_DOCDIR}/examples/slurm"
  "${CMAKE_INSTALL_DOCDIR}/tests/captures")
if(NOT SCOREP_NCCL_ONLY)
  list(APPEND directories "${CMAKE_INSTALL_BINDIR}" "${CMAKE_INSTALL_MANDIR}/man1")
  list(TRANSFORM completions PREPEND "${CMAKE_INSTALL_DATADIR}/" OUTPUT_VARIABLE places)
  list(APPEND directories ${places})
endif()
if(SCOREP_NCCL_STATIC)
  list(APPEND directories "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endif()
include(Uninstall)
note_directories(${directories})

# links, not copies: NCCL and Score-P must reach the same library in memory
install(PROGRAMS "${shipped}/${library}" DESTINATION "${CMAKE_INSTALL_LIBDIR}")
file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/links")
foreach(link IN LISTS links)
  file(CREATE_LINK "${library}" "${CMAKE_BINARY_DIR}/links/${link}" SYMBOLIC)
  install(FILES "${CMAKE_BINARY_DIR}/links/${link}" DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endforeach()

# the archive, and the flags to link with it
if(SCOREP_NCCL_STATIC)
  install(FILES "${built}/${archive}" DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  set(archive_directory "${CMAKE_INSTALL_LIBDIR}")
  file(RELATIVE_PATH to_prefix "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
  configure_file(cmake/scorep-nccl-static.pc.in scorep-nccl-static.pc @ONLY)
  install(FILES "${CMAKE_BINARY_DIR}/scorep-nccl-static.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
  # as CMake does for archives that it built itself: `install/strip`, `cmake --install --strip`, and packages
  install(CODE "
    if(CMAKE_INSTALL_DO_STRIP)
      set(file \"${CMAKE_INSTALL_LIBDIR}/${archive}\")
      cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY \"\${CMAKE_INSTALL_PREFIX}\" NORMALIZE)
      execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-unneeded \"\$ENV{DESTDIR}\${file}\" COMMAND_ERROR_IS_FATAL ANY)
    endif()")
endif()

if(NOT SCOREP_NCCL_ONLY)
  install(PROGRAMS "${tool}" DESTINATION "${CMAKE_INSTALL_BINDIR}")
  install(DIRECTORY "${pages}/man/" DESTINATION "${CMAKE_INSTALL_MANDIR}")
  foreach(place IN LISTS completions)
    install(DIRECTORY "${pages}/${place}/" DESTINATION "${CMAKE_INSTALL_DATADIR}/${place}")
  endforeach()
endif()

# a module finds the rest from where it lies, so that all of it may be moved
file(RELATIVE_PATH to_prefix "/prefix/${module_directory}" "/prefix")
set(module_note "Nothing is measured until NCCL and Score-P are asked to")
if(SCOREP_NCCL_DEFAULT)
  set(module_note "NCCL loads it without being asked to, and NCCL_PROFILER_PLUGIN=none prevents that")
endif()
foreach(language "" ".lua")
  configure_file("cmake/module${language}.in" "module/${PROJECT_VERSION}${language}" @ONLY)
  install(FILES "${CMAKE_BINARY_DIR}/module/${PROJECT_VERSION}${language}" DESTINATION "${module_directory}")
endforeach()

install(FILES LICENSE README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md DESTINATION "${CMAKE_INSTALL_DOCDIR}")
# the pages refer to the format of captures
install(FILES tests/captures/README.md DESTINATION "${CMAKE_INSTALL_DOCDIR}/tests/captures")
# the pipeline is a package to build, for which one takes the sources
install(DIRECTORY docs examples DESTINATION "${CMAKE_INSTALL_DOCDIR}" USE_SOURCE_PERMISSIONS PATTERN pipeline EXCLUDE)

note_files()
