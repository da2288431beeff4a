# Has cargo build the library and the tool, and the tool write manual and completions. What is up to date cargo knows.
#   shipped           where the library lies for the installation
#   tool              the command-line tool
#   library           file name of the library
#   links             its other names
#   archive           file name of the archive, with SCOREP_NCCL_STATIC
#   pages             what the tool wrote, laid out as below share

set(profile "$<IF:$<CONFIG:Debug>,dev,release>")
set(directory "$<IF:$<CONFIG:Debug>,debug,release>")
set(shipped "${cargo_target}/shipped/${directory}")
# nothing is built where it is used
set(library_target "${cargo_target}/library")
set(built "${library_target}/${directory}")

# the same names as in the README's table and in src/library.rs
if(SCOREP_NCCL_ONLY)
  set(package scorep-nccl-profiler)
  set(library libnccl_profiler.so)
  set(archive libnccl_profiler.a)
  set(links libnccl-profiler-scorep.so)
else()
  set(package scorep-nccl-substrate)
  set(library libscorep_substrate_nccl.so)
  set(archive libscorep_substrate_nccl.a)
  set(links libnccl-profiler-scorep.so libnccl_plugin.so libnccl_series_plugin.so)
endif()

# nccl-plugin/src/opening/unasked.rs has the name, too
if(SCOREP_NCCL_DEFAULT)
  list(APPEND links libnccl-profiler.so)
endif()

if(SCOREP_PREFIX AND ScoreP_FOUND)
  list(APPEND cargo_call "SCOREP_PREFIX=${ScoreP_PREFIX}")
else()
  list(APPEND cargo_call --unset=SCOREP_PREFIX)
endif()
list(APPEND cargo_call "${CARGO}")

# leaves the debugging information beside the file
set(strip "${CMAKE_COMMAND}" -E env "OBJCOPY=${CMAKE_OBJCOPY}" "${CMAKE_CURRENT_SOURCE_DIR}/scripts/strip")

# as a cdylib alone: cargo leaves link-time optimization out where it makes an rlib, too
add_custom_target(library ALL
  COMMAND ${cargo_call} rustc ${cargo_options} ${cargo_features} --profile ${profile} --target-dir "${library_target}"
    --package ${package} --lib --crate-type cdylib
  COMMAND ${strip} "${built}/${library}" "${shipped}/${library}"
  BYPRODUCTS "${shipped}/${library}"
  COMMENT "cargo: ${library}" USES_TERMINAL VERBATIM)

if(SCOREP_NCCL_STATIC)
  add_custom_target(static ALL
    COMMAND ${cargo_call} rustc ${cargo_options} ${cargo_features} --profile ${profile} --target-dir "${library_target}"
      --package ${package} --lib --crate-type staticlib
    BYPRODUCTS "${built}/${archive}"
    COMMENT "cargo: ${archive}" USES_TERMINAL VERBATIM)
  add_dependencies(static library)
endif()

# the tool apart from it, since it is made with the library's crates, too, as rlibs: each would replace what the other built
if(NOT SCOREP_NCCL_ONLY)
  set(tool_profile "$<IF:$<CONFIG:Debug>,dev,tool>")
  set(tool "${shipped}/scorep-nccl")
  set(pages "${CMAKE_BINARY_DIR}/pages")
  add_custom_target(tool ALL
    COMMAND ${cargo_call} build ${cargo_options} --profile ${tool_profile} --target-dir "${cargo_target}" --bin scorep-nccl
    COMMAND ${strip} "${cargo_target}/$<IF:$<CONFIG:Debug>,debug,tool>/scorep-nccl" "${tool}"
    COMMAND "${CMAKE_COMMAND}" -E rm -rf "${pages}"
    COMMAND "${tool}" pages "${pages}"
    BYPRODUCTS "${tool}"
    COMMENT "cargo: scorep-nccl, its manual and completions" USES_TERMINAL VERBATIM)
  # one cargo at a time: they would wait for each other
  add_dependencies(tool library)
  if(SCOREP_NCCL_STATIC)
    add_dependencies(tool static)
  endif()
endif()
