# Finds Score-P, whose headers the library's declarations are then made of. The library needs none to be built.
#   SCOREP_PREFIX     says where it is; otherwise the scorep-config on PATH is asked
#   ScoreP_FOUND, ScoreP_VERSION, ScoreP_PREFIX

set(SCOREP_PREFIX "$ENV{SCOREP_PREFIX}" CACHE PATH "Where Score-P is installed: what `scorep-config --prefix` prints")

if(SCOREP_PREFIX)
  file(REAL_PATH "${SCOREP_PREFIX}" ScoreP_PREFIX)
  set(scorep_config "${ScoreP_PREFIX}/bin/scorep-config")
else()
  find_program(SCOREP_CONFIG scorep-config DOC "Score-P's program that tells how it is installed")
  set(scorep_config "${SCOREP_CONFIG}")
  if(scorep_config)
    execute_process(COMMAND "${scorep_config}" --prefix
      OUTPUT_VARIABLE ScoreP_PREFIX ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  endif()
endif()

set(ScoreP_HEADERS "")
if(ScoreP_PREFIX)
  set(ScoreP_HEADERS "${ScoreP_PREFIX}/include/scorep")
  foreach(header SCOREP_MetricPlugins.h SCOREP_SubstratePlugins.h)
    if(SCOREP_PREFIX AND NOT EXISTS "${ScoreP_HEADERS}/${header}")
      message(FATAL_ERROR "SCOREP_PREFIX: there is no ${ScoreP_HEADERS}/${header}; "
        "set it to what `scorep-config --prefix` prints, or leave it out: the library needs no Score-P to be built")
    elseif(NOT EXISTS "${ScoreP_HEADERS}/${header}")
      set(ScoreP_HEADERS "")
    endif()
  endforeach()
  if(EXISTS "${scorep_config}")
    execute_process(COMMAND "${scorep_config}" --version
      OUTPUT_VARIABLE ScoreP_VERSION ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
    string(REGEX MATCH "[0-9].*" ScoreP_VERSION "${ScoreP_VERSION}")
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ScoreP REQUIRED_VARS ScoreP_HEADERS VERSION_VAR ScoreP_VERSION
  REASON_FAILURE_MESSAGE "built with the declarations kept in scorep-substrate, which say the same")
