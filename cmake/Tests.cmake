# ctest: one test for each file of cargo's, and one for the tests beside the code. `ctest -R NAME` runs one.

enable_testing()

function(add_cargo_test name)
  add_test(NAME ${name} COMMAND ${cargo_call} test --profile checked ${cargo_options} ${cargo_features} --target-dir "${cargo_target}"
    ${ARGN}
    WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
  # they use all processors, and time
  set_tests_properties(${name} PROPERTIES RUN_SERIAL ON TIMEOUT 3600)
  if(SCOREP_NCCL_VENDOR_DIR) # for cargo's calls within
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "SCOREP_NCCL_VENDOR_DIR=${vendored}")
  endif()
endfunction()

if(SCOREP_NCCL_ONLY)
  add_cargo_test(units --package scorep-nccl-common --package ${package})
else()
  add_cargo_test(units --workspace --lib --bins)
  file(GLOB files RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}/tests" CONFIGURE_DEPENDS tests/*.rs tests/*/main.rs)
  foreach(file IN LISTS files)
    string(REGEX REPLACE "(/main)?\\.rs$" "" name "${file}")
    add_cargo_test(${name} --test ${name})
  endforeach()
endif()
